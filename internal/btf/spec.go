package btf

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotBTF says that bytes are not type information, or that they are damaged.
var ErrNotBTF = errors.New("no BTF type information")

const (
	magic      = 0xeb9f
	swapped    = 0x9feb
	headerSize = 24 // of the first version; struct btf_header has grown since
	typeSize   = 12 // struct btf_type

	// Kind and number of members have had fewer bits (5 and 16); the others were
	// zero.
	maxKind    = 0x7f
	maxMembers = 0xffffff
)

// ID is the number of a type. Those of a module's types go on from its base's.
type ID uint32

// Spec is type information, of the kernel or of a module. It never changes;
// several goroutines may share it. Names that its methods return are parts of
// it: who keeps few of them for long should strings.Clone them.
type Spec struct {
	base        *Spec  // nil unless it adds to another one
	firstType   ID     // 1, or the first number that base does not have
	firstString uint32 // the length of base's strings
	types       string
	strings     string
	starts      []uint32 // of each type in types, in the order of their numbers
}

// Parse reads type information, which is kept. Base is what it adds to: the
// kernel's for a module's (split BTF), and nil for the kernel's own. The error
// wraps ErrNotBTF.
//
// Types refer to each other by numbers that are not looked at here: those that
// lead nowhere are Void where they are followed.
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

// readLayouts returns how long types are: what this package knows, and what
// the information says about other kinds.
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

// index notes where each type begins.
func (s *Spec) index(known *[maxKind + 1]layout) error {
	// Types of kernels take 23 bytes on average.
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

// section is a part of data that begins offset bytes behind the header.
func section(data string, header, offset, length uint32) (string, bool) {
	start := uint64(header) + uint64(offset)
	end := start + uint64(length)
	if end > uint64(len(data)) {
		return "", false
	}
	return data[start:end], true
}

// text is the string at an offset, "" if there is none.
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

// isText tells whether the string at an offset is want.
func (s *Spec) isText(offset uint32, want string) bool {
	for offset < s.firstString {
		s = s.base
	}
	offset -= s.firstString
	end := uint64(offset) + uint64(len(want))
	return end < uint64(len(s.strings)) && s.strings[end] == 0 && s.strings[offset:end] == want
}

func u16(s string, at int) uint16 { return uint16(s[at]) | uint16(s[at+1])<<8 }

func u32(s string, at int) uint32 {
	s = s[at : at+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
