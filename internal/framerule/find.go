// Package framerule finds how the canonical frame address, which debug information counts
// variables from, is computed at one instruction: a register and a distance.
//
//	.eh_frame, .debug_frame → Find → Rule
//
// It reads the tables from their beginning for each question, which serves who asks for
// the few places of a probe. Package callchain has the rules of whole programs.
package framerule

import (
	"encoding/binary"
	"errors"
)

// Rule is the canonical frame address: the content of a register of DWARF's numbering,
// and so many bytes.
type Rule struct {
	Register uint64
	Offset   int64
}

// What may be wrong with a question.
var (
	ErrNone    = errors.New("no unwind table describes the code")
	ErrComplex = errors.New("its frame is described by more than a register and a distance")
)

// Section is a section with unwind tables.
type Section struct {
	Data  []byte
	Addr  uint64 // where it is loaded
	Debug bool   // .debug_frame, whose entries differ a little from those of .eh_frame
}

// Find returns the rule that holds at vaddr, before that instruction runs. Sections are of a
// little-endian file with addresses of 8 bytes.
func (s Section) Find(vaddr uint64) (Rule, error) {
	for at := 0; at+4 <= len(s.Data); {
		entry, next, ok := s.entry(at)
		if !ok || next <= at {
			break
		}
		at = next
		if entry == nil || s.isCIE(entry) {
			continue
		}
		r, found, err := s.fde(entry, vaddr)
		if found || err != nil {
			return r, err
		}
	}
	return Rule{}, ErrNone
}

// entry is the content of an entry behind its length, with its offset in the section.
func (s Section) entry(at int) (e *cursor, next int, ok bool) {
	length := uint64(binary.LittleEndian.Uint32(s.Data[at:]))
	if length == 0 {
		return nil, at + 4, true // the end of one file's part
	}
	if length == 0xffffffff || length > uint64(len(s.Data)-at-4) {
		return nil, 0, false
	}
	next = at + 4 + int(length)
	return &cursor{section: s, b: s.Data[:next], at: at + 4}, next, true
}

// isCIE reads an entry's identification, and leaves the cursor at it.
func (s Section) isCIE(e *cursor) bool {
	id := (&cursor{b: e.b, at: e.at}).u32()
	if s.Debug {
		return id == 0xffffffff
	}
	return id == 0
}

// cie is what frames have in common.
type cie struct {
	codeAlign uint64
	dataAlign int64
	encoding  byte
	augmented bool // lengths of augmentation data stand in the frames
	program   *cursor
}

func (s Section) cie(at int) (c cie, ok bool) {
	if at < 0 || at+4 > len(s.Data) {
		return c, false
	}
	e, _, ok := s.entry(at)
	if !ok || e == nil || !s.isCIE(e) {
		return c, false
	}
	e.u32()
	version := e.u8()
	augmentation := e.text()
	if s.Debug && version >= 4 {
		e.bytes(2) // sizes of addresses and segments
	}
	c.codeAlign, c.dataAlign = e.uleb(), e.sleb()
	if version == 1 {
		e.u8()
	} else {
		e.uleb()
	}
	if len(augmentation) > 0 && augmentation[0] == 'z' {
		c.augmented = true
		size := e.uleb()
		inner := &cursor{section: s, b: e.b, at: e.at}
		e.bytes(int(min(size, uint64(len(e.b)))))
		for _, letter := range augmentation[1:] {
			switch letter {
			case 'R':
				c.encoding = inner.u8()
			case 'P':
				inner.pointer(inner.u8())
			case 'L':
				inner.u8()
			}
		}
	} else if augmentation != "" {
		return c, false
	}
	c.program = e
	return c, !e.failed
}

// fde reads a frame's entry, and finds the rule if the address is in it.
func (s Section) fde(e *cursor, vaddr uint64) (r Rule, found bool, err error) {
	idAt := e.at
	id := e.u32()
	from := int(id)
	if !s.Debug {
		from = idAt - int(id)
	}
	c, ok := s.cie(from)
	if !ok {
		return r, false, nil
	}
	low := e.pointer(c.encoding)
	size := e.pointer(c.encoding & 0x0f)
	if e.failed || vaddr < low || vaddr-low >= size {
		return r, false, nil
	}
	if c.augmented {
		e.bytes(int(min(e.uleb(), uint64(len(e.b)))))
	}
	m := machine{cie: c, pc: low, until: vaddr}
	if !m.run(c.program) {
		return r, true, ErrComplex
	}
	m.initial = m.rule
	if !m.run(e) || m.complex {
		return r, true, ErrComplex
	}
	return m.rule, true, nil
}
