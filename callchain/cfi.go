package callchain

import (
	"errors"
	"fmt"
)

// cie is the part that many functions share (DWARF 5, 6.4.1; the Linux
// Standard Base for augmentations).
type cie struct {
	codeAlign uint64
	dataAlign int64
	ra        uint8
	pointers  uint8 // encoding of the addresses in its FDEs
	sized     bool  // FDEs carry augmentation data with a size ('z')
	signal    bool  // 'S'
	initial   row
}

// frameSection is one .eh_frame or .debug_frame, with what is needed to read
// pointers in it.
type frameSection struct {
	data  []byte
	addr  uint64 // virtual address of data[0]; zero for .debug_frame
	debug bool   // .debug_frame
	cies  []cie
	at    map[uint64]int // offset of a CIE to its index, -1 for one not understood
}

// fde is one function's program.
type fde struct {
	start, end uint64 // virtual addresses
	cie        int
	program    []byte
}

// errTruncated is the reason for a section whose records do not fit in it.
var errTruncated = errors.New("record runs past the end of the section")

// walk calls add for every FDE whose CIE is understood. Records that are not
// understood are left out; walk ends with an error only where the chain of
// records itself is broken. What was found until then stays valid.
func (s *frameSection) walk(exprs *exprArena, add func(fde)) error {
	s.at = make(map[uint64]int)
	r := reader{data: s.data}
	for r.left() >= 4 {
		begin := uint64(r.off)
		length, wide := uint64(r.u32()), false
		if length == 0xffffffff {
			length, wide = r.u64(), true
		}
		if r.bad {
			return fmt.Errorf("read call frame record at %#x: %w", begin, errTruncated)
		}
		if length == 0 {
			if s.debug {
				continue
			}
			return nil // the terminator of .eh_frame
		}
		field := uint64(r.off)
		body := r.bytes(length)
		if r.bad {
			return fmt.Errorf("read call frame record at %#x: %w", begin, errTruncated)
		}
		s.record(begin, field, body, wide, exprs, add)
	}
	return nil
}

// record reads one CIE or FDE. field is the offset of its second field, which
// the CIE pointer of an FDE in .eh_frame counts back from.
func (s *frameSection) record(begin, field uint64, body []byte, wide bool, exprs *exprArena, add func(fde)) {
	r := reader{data: body}
	var id uint64
	isCIE := false
	if s.debug && wide {
		id = r.u64()
		isCIE = id == 1<<64-1
	} else {
		id = uint64(r.u32())
		isCIE = s.debug && id == 0xffffffff || !s.debug && id == 0
	}
	if isCIE {
		s.at[begin] = -1
		if c, ok := s.parseCIE(&r, field, exprs); ok {
			s.at[begin] = len(s.cies)
			s.cies = append(s.cies, c)
		}
		return
	}
	if !s.debug {
		id = field - id
	}
	// Only records met before count as CIEs. That keeps the work linear: no
	// crafted file can have the same bytes run as many different CIEs.
	i, ok := s.at[id]
	if !ok || i < 0 {
		return
	}
	if f, ok := s.parseFDE(&r, field, i); ok {
		add(f)
	}
}

func (s *frameSection) parseCIE(r *reader, field uint64, exprs *exprArena) (cie, bool) {
	c := cie{pointers: encAbsolute}
	version := r.u8()
	augmentation := r.text()
	if version != 1 && version != 3 && version != 4 {
		return c, false
	}
	if len(augmentation) >= 2 && augmentation[:2] == "eh" {
		r.u64() // a pointer that GCC 2 put here
		augmentation = augmentation[2:]
	}
	if version == 4 {
		if addressSize, segmentSize := r.u8(), r.u8(); addressSize != 8 || segmentSize != 0 {
			return c, false
		}
	}
	c.codeAlign = r.uleb()
	c.dataAlign = r.sleb()
	if version == 1 {
		c.ra = r.u8()
	} else {
		c.ra = uint8(min(r.uleb(), maxRegs))
	}
	if r.bad || c.ra >= maxRegs || !s.augment(&c, r, field, augmentation) {
		return c, false
	}
	p := program{code: reader{data: r.data[r.off:]}, cie: &c, exprs: exprs}
	p.row = row{cfa: rule{kind: ruleUndefined}}
	if !p.run(nil) {
		return c, false
	}
	c.initial = p.row
	return c, true
}

// augment reads the augmentation data of a CIE.
func (s *frameSection) augment(c *cie, r *reader, field uint64, augmentation string) bool {
	if augmentation == "" {
		return true
	}
	if augmentation[0] != 'z' {
		return false // without a size what follows can't be skipped
	}
	c.sized = true
	size := r.uleb()
	start := uint64(r.off)
	data := reader{data: r.bytes(size)}
	if r.bad {
		return false
	}
	for _, letter := range augmentation[1:] {
		switch letter {
		case 'R':
			c.pointers = data.u8()
		case 'P': // the personality routine
			data.pointer(data.u8(), s.addr+field+start, s.addr)
		case 'L': // encoding of the language's own data in the FDEs
			data.u8()
		case 'S':
			c.signal = true
		case 'B', 'G': // arm64: signed with the B key, memory tagging of frames
		default:
			return !data.bad // unknown, and so is the place of what follows
		}
	}
	return !data.bad
}

func (s *frameSection) parseFDE(r *reader, field uint64, i int) (fde, bool) {
	c := &s.cies[i]
	f := fde{cie: i}
	f.start = r.pointer(c.pointers, s.addr+field, 0)
	f.end = f.start + r.number(c.pointers)
	if c.sized {
		r.bytes(r.uleb())
	}
	if r.bad || f.end <= f.start {
		return f, false
	}
	f.program = r.data[r.off:]
	return f, true
}
