package btf

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotBTF is returned when bytes are not type information, or are damaged.
var ErrNotBTF = errors.New("no BTF type information")

const (
	magic      = 0xeb9f
	swapped    = 0x9feb
	headerSize = 24 // size of the first version; struct btf_header has grown since
	typeSize   = 12 // struct btf_type

	// Kind and number of members used to have fewer bits (5 and 16); the other bits were zero.
	maxKind    = 0x7f
	maxMembers = 0xffffff
)

// ID is the number of a type. A module's numbers continue those of its base.
type ID uint32

// Spec is the type information of the kernel or a module. It never changes, so goroutines may
// share it. Names returned by its methods share its memory: use strings.Clone to keep a few of
// them for long.
type Spec struct {
	base        *Spec  // nil unless it extends another one
	firstType   ID     // 1, or the first number that base does not have
	firstString uint32 // length of base's strings
	types       string
	strings     string
	starts      []uint32 // start of each type in types, by number
}

// Parse parses type information and keeps data. base is the Spec that it extends: the kernel's
// for a module (split BTF), nil for the kernel's own. The error wraps ErrNotBTF.
//
// Parse does not check the numbers by which types refer to each other. If one does not exist,
// following it gives Void.
func Parse(data string, base *Spec) (*Spec, error) {
	if len(data) < headerSize {
		return nil, fmt.Errorf("%w: %d bytes", ErrNotBTF, len(data))
	}
	switch u16(data, 0) {
	case magic:
	case swapped:
		return nil, fmt.Errorf("%w of this machine: the byte order is another", ErrNotBTF)
	default:
		return nil, fmt.Errorf("%w: it begins with %#04x", ErrNotBTF, u16(data, 0))
	}
	if version := data[2]; version != 1 {
		return nil, fmt.Errorf("%w of version 1, but of version %d", ErrNotBTF, version)
	}
	header := u32(data, 4)
	s := &Spec{base: base, firstType: 1}
	if base != nil {
		s.firstType = base.firstType + ID(len(base.starts))
		s.firstString = base.firstString + uint32(len(base.strings))
	}
	var ok, ok2 bool
	s.types, ok = section(data, header, u32(data, 8), u32(data, 12))
	s.strings, ok2 = section(data, header, u32(data, 16), u32(data, 20))
	if !ok || !ok2 || header < headerSize {
		return nil, fmt.Errorf("%w: it is cut short", ErrNotBTF)
	}
	if n := len(s.strings); n > 0 && s.strings[n-1] != 0 || n == 0 && base == nil {
		return nil, fmt.Errorf("%w: its strings have no end", ErrNotBTF)
	}
	known, err := readLayouts(data, header)
	if err != nil {
		return nil, err
	}
	return s, s.index(known)
}

// readLayouts returns the lengths of types: for known kinds from this package, for other kinds
// from the data.
func readLayouts(data string, header uint32) (*[maxKind + 1]layout, error) {
	known := layouts
	if header < headerSize+8 || len(data) < headerSize+8 {
		return &known, nil
	}
	said, ok := section(data, header, u32(data, 24), u32(data, 28))
	if !ok {
		return nil, fmt.Errorf("%w: it is cut short", ErrNotBTF)
	}
	for kind := 0; kind <= maxKind && 4*kind+4 <= len(said); kind++ {
		if !known[kind].known && kind > 0 {
			known[kind] = layout{said[4*kind], said[4*kind+1], true}
		}
	}
	return &known, nil
}

// index records the start of each type.
func (s *Spec) index(known *[maxKind + 1]layout) error {
	// A kernel's types have 23 bytes on average.
	starts := make([]uint32, 0, len(s.types)/20)
	for at := 0; at < len(s.types); {
		if len(s.types)-at < typeSize {
			return fmt.Errorf("%w: its types are cut short", ErrNotBTF)
		}
		info := u32(s.types, at+4)
		l := &known[info>>24&maxKind]
		if !l.known {
			return fmt.Errorf("%w that this program knows: type %d is of kind %d", ErrNotBTF, int(s.firstType)+len(starts), info>>24&maxKind)
		}
		starts = append(starts, uint32(at))
		at += typeSize + int(l.fixed) + int(l.each)*int(info&maxMembers)
		if at > len(s.types) {
			return fmt.Errorf("%w: type %d is cut short", ErrNotBTF, int(s.firstType)+len(starts)-1)
		}
	}
	s.starts = starts
	return nil
}

// section returns length bytes of data, starting offset bytes after the header.
func section(data string, header, offset, length uint32) (string, bool) {
	start := uint64(header) + uint64(offset)
	end := start + uint64(length)
	if end > uint64(len(data)) {
		return "", false
	}
	return data[start:end], true
}

// text returns the string at an offset, or "" if there is none.
func (s *Spec) text(offset uint32) string {
	for offset < s.firstString {
		s = s.base
	}
	offset -= s.firstString
	if uint64(offset) >= uint64(len(s.strings)) {
		return ""
	}
	text, _, _ := strings.Cut(s.strings[offset:], "\x00")
	return text
}

// isText reports whether the string at an offset equals want.
func (s *Spec) isText(offset uint32, want string) bool {
	for offset < s.firstString {
		s = s.base
	}
	offset -= s.firstString
	end := uint64(offset) + uint64(len(want))
	return end < uint64(len(s.strings)) && s.strings[end] == 0 && s.strings[offset:end] == want
}

func u16(s string, offset int) uint16 { return uint16(s[offset]) | uint16(s[offset+1])<<8 }

func u32(s string, offset int) uint32 {
	s = s[offset : offset+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
