package library

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// cacheEntry is one library of ld.so.cache, under the name that programs request.
type cacheEntry struct {
	soname string
	path   string
	flags  uint32 // kind of file and ABI (FLAG_… in glibc's sysdeps/generic/ldconfig.h)
	hwcap  uint64 // processor features it needs, before glibc 2.33; 0: none
	level  string // its glibc-hwcaps subdirectory, "x86-64-v3"; "": none; "?": unknown
}

// The two forms of the cache (glibc, sysdeps/generic/dl-cache.h). The new form may follow the
// old one in the same file.
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
	extensionHwcap  = 1 << 30 // upper word of a Hwcap that is an index (DL_CACHE_HWCAP_EXTENSION)

	unknownLevel = "?"

	maxExtensions = 64
	maxLevels     = 1024
	maxString     = 4096 // PATH_MAX
)

// errCache is wrapped by readCache's error if the bytes are not a cache.
var errCache = errors.New("not an ld.so.cache")

// readCache parses an ld.so.cache in either form. It keeps the order: of the entries with one
// name, ld.so takes the first suitable one. Like ld.so, it skips entries whose strings are
// outside the file.
func readCache(b []byte) ([]cacheEntry, error) {
	if bytes.HasPrefix(b, []byte(newMagic)) {
		return readNewCache(b, b)
	}
	if !bytes.HasPrefix(b, []byte(oldMagic)) || len(b) < oldHeader {
		return nil, errCache
	}
	count := uint64(binary.NativeEndian.Uint32(b[12:]))
	strings := oldHeader + count*oldEntry
	if strings > uint64(len(b)) {
		return nil, fmt.Errorf("%w: %d libraries in %d bytes", errCache, count, len(b))
	}
	next := (strings + newAlignment - 1) &^ (newAlignment - 1)
	if next < uint64(len(b)) && bytes.HasPrefix(b[next:], []byte(newMagic)) {
		return readNewCache(b, b[next:])
	}
	c := cacheReader{order: binary.NativeEndian, text: string(b[strings:])}
	entries := make([]cacheEntry, 0, count)
	for at := uint64(oldHeader); at < strings; at += oldEntry {
		entries = c.append(entries, b[at:], 0)
	}
	return entries, nil
}

// readNewCache parses the new form, which starts at b; file is the whole file.
func readNewCache(file, b []byte) ([]cacheEntry, error) {
	if len(b) < newHeader {
		return nil, fmt.Errorf("%w: cut off in its header", errCache)
	}
	c := cacheReader{order: binary.LittleEndian, text: string(b)}
	if b[28]&3 == bigEndian {
		c.order = binary.BigEndian
	}
	count := uint64(c.order.Uint32(b[20:]))
	end := newHeader + count*newEntry
	if end > uint64(len(b)) {
		return nil, fmt.Errorf("%w: %d libraries in %d bytes", errCache, count, len(b))
	}
	c.readLevels(file, uint64(c.order.Uint32(b[32:])))
	entries := make([]cacheEntry, 0, count)
	for at := uint64(newHeader); at < end; at += newEntry {
		entries = c.append(entries, b[at:], c.order.Uint64(b[at+16:]))
	}
	return entries, nil
}

// cacheReader reads the entries of a cache.
type cacheReader struct {
	order  binary.ByteOrder
	text   string // base of string offsets
	levels []string
}

// append appends the entry at the start of b.
func (c *cacheReader) append(entries []cacheEntry, b []byte, hwcap uint64) []cacheEntry {
	e := cacheEntry{flags: c.order.Uint32(b), hwcap: hwcap}
	var soname, path bool
	e.soname, soname = c.string(c.order.Uint32(b[4:]))
	e.path, path = c.string(c.order.Uint32(b[8:]))
	if !soname || !path {
		return entries
	}
	if hwcap>>32 == extensionHwcap {
		e.hwcap, e.level = 0, unknownLevel
		if index := uint64(uint32(hwcap)); index < uint64(len(c.levels)) {
			e.level = c.levels[index]
		}
	}
	return append(entries, e)
}

// string returns the string at an offset.
func (c *cacheReader) string(offset uint32) (s string, ok bool) { return stringAt(c.text, offset) }

// stringAt returns the string at an offset, without copying it.
func stringAt(text string, offset uint32) (s string, ok bool) {
	if uint64(offset) >= uint64(len(text)) {
		return "", false
	}
	s = text[offset:min(uint64(len(text)), uint64(offset)+maxString)]
	for i := range len(s) {
		if s[i] == 0 {
			return s[:i], i > 0
		}
	}
	return "", false
}

// readLevels reads the names of the glibc-hwcaps subdirectories that entries refer to by index.
// If the list is missing or broken, there are no names. Offsets count from the start of the
// file, as in ld.so. If the old form precedes the new one, ldconfig counts them from the new
// header instead, so neither ld.so nor we find a level there.
func (c *cacheReader) readLevels(file []byte, offset uint64) {
	size := uint64(len(file))
	if offset == 0 || offset+extensionHeader > size || c.order.Uint32(file[offset:]) != extensionMagic {
		return
	}
	count := min(uint64(c.order.Uint32(file[offset+4:])), maxExtensions)
	for offset += extensionHeader; count > 0 && offset+extensionEntry <= size; offset, count = offset+extensionEntry, count-1 {
		if c.order.Uint32(file[offset:]) != extensionLevels {
			continue
		}
		text := string(file)
		first := uint64(c.order.Uint32(file[offset+8:]))
		bytes := min(uint64(c.order.Uint32(file[offset+12:])), maxLevels*4)
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
