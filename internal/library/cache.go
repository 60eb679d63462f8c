package library

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// CacheEntry is one library of ld.so.cache, under the name that programs ask for.
type CacheEntry struct {
	Soname string
	Path   string
	Flags  uint32 // kind of file and ABI (FLAG_… in glibc's sysdeps/generic/ldconfig.h)
	Hwcap  uint64 // processor features it needs, before glibc 2.33; 0: none
	Level  string // subdirectory of glibc-hwcaps that it is in, "x86-64-v3"; "": none; "?": not known
}

// The two forms of the cache (glibc, sysdeps/generic/dl-cache.h). The new one
// may follow the old one in the same file.
const (
	oldMagic     = "ld.so-1.7.0"
	oldHeader    = 16
	oldEntry     = 12
	newMagic     = "glibc-ld.so.cache1.1"
	newHeader    = 48
	newEntry     = 24
	newAlignment = 8

	bigEndian = 3 // in the header's flags: cache_file_new_flags_endian_big

	extensionMagic  = 0xeaa42174
	extensionHeader = 8
	extensionEntry  = 16
	extensionLevels = 1       // cache_extension_tag_glibc_hwcaps
	extensionHwcap  = 1 << 30 // the upper word of a Hwcap that is an index (DL_CACHE_HWCAP_EXTENSION)

	unknownLevel = "?"

	maxExtensions = 64
	maxLevels     = 1024
	maxString     = 4096 // PATH_MAX
)

// ErrCache is wrapped by the error of ReadCache for bytes that are no cache.
var ErrCache = errors.New("not an ld.so.cache")

// ReadCache reads the bytes of an ld.so.cache, of either form, in its order:
// of those for one name ld.so takes the first that suits. Entries whose strings
// lie outside of the file are left out, as ld.so does.
func ReadCache(b []byte) ([]CacheEntry, error) {
	if bytes.HasPrefix(b, []byte(newMagic)) {
		return readNewCache(b, b)
	}
	if !bytes.HasPrefix(b, []byte(oldMagic)) || len(b) < oldHeader {
		return nil, ErrCache
	}
	count := uint64(binary.NativeEndian.Uint32(b[12:]))
	strings := oldHeader + count*oldEntry
	if strings > uint64(len(b)) {
		return nil, fmt.Errorf("%w: %d libraries in %d bytes", ErrCache, count, len(b))
	}
	next := (strings + newAlignment - 1) &^ (newAlignment - 1)
	if next < uint64(len(b)) && bytes.HasPrefix(b[next:], []byte(newMagic)) {
		return readNewCache(b, b[next:])
	}
	c := cacheReader{order: binary.NativeEndian, text: string(b[strings:])}
	entries := make([]CacheEntry, 0, count)
	for at := uint64(oldHeader); at < strings; at += oldEntry {
		entries = c.append(entries, b[at:], 0)
	}
	return entries, nil
}

// readNewCache reads the new form, which begins with b; file is all of the file.
func readNewCache(file, b []byte) ([]CacheEntry, error) {
	if len(b) < newHeader {
		return nil, fmt.Errorf("%w: cut off in its header", ErrCache)
	}
	c := cacheReader{order: binary.LittleEndian, text: string(b)}
	if b[28]&3 == bigEndian {
		c.order = binary.BigEndian
	}
	count := uint64(c.order.Uint32(b[20:]))
	end := newHeader + count*newEntry
	if end > uint64(len(b)) {
		return nil, fmt.Errorf("%w: %d libraries in %d bytes", ErrCache, count, len(b))
	}
	c.readLevels(file, uint64(c.order.Uint32(b[32:])))
	entries := make([]CacheEntry, 0, count)
	for at := uint64(newHeader); at < end; at += newEntry {
		entries = c.append(entries, b[at:], c.order.Uint64(b[at+16:]))
	}
	return entries, nil
}

// cacheReader is a cache whose header has been read.
type cacheReader struct {
	order  binary.ByteOrder
	text   string // what the offsets of strings count from
	levels []string
}

// append adds the entry that b begins with.
func (c *cacheReader) append(entries []CacheEntry, b []byte, hwcap uint64) []CacheEntry {
	e := CacheEntry{Flags: c.order.Uint32(b), Hwcap: hwcap}
	var soname, path bool
	e.Soname, soname = c.string(c.order.Uint32(b[4:]))
	e.Path, path = c.string(c.order.Uint32(b[8:]))
	if !soname || !path {
		return entries
	}
	if hwcap>>32 == extensionHwcap {
		e.Hwcap, e.Level = 0, unknownLevel
		if index := uint64(uint32(hwcap)); index < uint64(len(c.levels)) {
			e.Level = c.levels[index]
		}
	}
	return append(entries, e)
}

// string returns the entry's text at an offset.
func (c *cacheReader) string(at uint32) (s string, ok bool) { return stringAt(c.text, at) }

// stringAt returns the text at an offset, without copying it.
func stringAt(text string, at uint32) (s string, ok bool) {
	if uint64(at) >= uint64(len(text)) {
		return "", false
	}
	s = text[at:min(uint64(len(text)), uint64(at)+maxString)]
	for i := range len(s) {
		if s[i] == 0 {
			return s[:i], i > 0
		}
	}
	return "", false
}

// readLevels reads the names of the glibc-hwcaps subdirectories that entries
// refer to by index. A cache without them, or with a broken list, has none. All
// offsets count from the begin of the file, as ld.so reads them; where the old
// form precedes the new one ldconfig counts the names' from the new header, so
// that neither ld.so nor we know a level there.
func (c *cacheReader) readLevels(file []byte, at uint64) {
	size := uint64(len(file))
	if at == 0 || at+extensionHeader > size || c.order.Uint32(file[at:]) != extensionMagic {
		return
	}
	count := min(uint64(c.order.Uint32(file[at+4:])), maxExtensions)
	for at += extensionHeader; count > 0 && at+extensionEntry <= size; at, count = at+extensionEntry, count-1 {
		if c.order.Uint32(file[at:]) != extensionLevels {
			continue
		}
		text := string(file)
		first := uint64(c.order.Uint32(file[at+8:]))
		bytes := min(uint64(c.order.Uint32(file[at+12:])), maxLevels*4)
		for ; bytes >= 4 && first+4 <= size; first, bytes = first+4, bytes-4 {
			level, ok := stringAt(text, c.order.Uint32(file[first:]))
			if !ok {
				level = unknownLevel
			}
			c.levels = append(c.levels, level)
		}
		return
	}
}
