package perl

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// ops holds the numbers of OP types, which differ among releases.
type ops struct{ null, nextstate, scope uint32 }

// maxOps bounds the OP types searched.
const maxOps = 1 << 10

// opsOf finds the numbers in the table of names.
func (r *perl) opsOf(names interp.Symbol) (o ops, ok bool) {
	found := 0
	for i := range uint64(min(names.Size/8, maxOps)) {
		at, ok := r.word(names.Addr + 8*i)
		if !ok {
			return o, false
		}
		name, _ := r.cString(at)
		number := map[string]*uint32{"null": &o.null, "nextstate": &o.nextstate, "scope": &o.scope}[name]
		if number != nil {
			*number = uint32(i)
			found++
		}
	}
	return o, found == 3
}

// Offsets in an OP, in bytes: op_next, op_sibparent, op_targ, op_type with its flags, op_flags,
// and op_first if it has children.
const (
	opNext    = 0
	opSibling = 8
	opTarg    = 24
	opType    = 32
	opFlags   = 34
	opFirst   = 40
	opSize    = 48

	typeBits = 1<<9 - 1
	moreBit  = 1 << 14 // op_moresib: it has a sibling
	hasKids  = 4
)

// Bounds on the search for a statement: OPs, and their nesting.
const (
	maxSearched = 1 << 12
	maxNested   = 1 << 8
)

// statement returns the COP of the statement that contains a place. Blocks without their own
// scope have COPs that never run. It finds the innermost of them as Perl does for caller()
// (closest_cop in util.c): below the sibling of the COP that did run.
func (r *perl) statement(p place) uint64 {
	var b [opSize]byte
	if p.op == 0 || !r.memory.Read(p.cop, b[:]) || uint32(binary.LittleEndian.Uint16(b[opType:]))&moreBit == 0 {
		return p.cop
	}
	s := search{perl: r, op: p.op &^ runsNow, runs: p.op&runsNow != 0, left: maxSearched}
	if cop := s.below(p.cop, binary.LittleEndian.Uint64(b[opSibling:]), maxNested); cop != 0 {
		return cop
	}
	return p.cop
}

// search searches for an OP.
type search struct {
	*perl
	op   uint64
	runs bool // search for the OP itself; otherwise for the OP before it
	left int
}

// below searches the tree below addr for the OP and returns the last COP before it, or 0 if the
// OP is not there.
func (s *search) below(cop, addr uint64, depth int) uint64 {
	var b [opSize]byte
	s.left--
	if s.left < 0 || depth == 0 || !s.memory.Read(addr, b[:]) {
		return 0
	}
	kind := uint32(binary.LittleEndian.Uint16(b[opType:])) & typeBits
	if s.runs && addr == s.op || !s.runs && binary.LittleEndian.Uint64(b[opNext:]) == s.op && kind != s.scope {
		return cop
	}
	if b[opFlags]&hasKids == 0 {
		return 0
	}
	for kid := binary.LittleEndian.Uint64(b[opFirst:]); kid != 0 && s.left > 0; {
		if !s.memory.Read(kid, b[:]) {
			return 0
		}
		kind, targ := binary.LittleEndian.Uint16(b[opType:]), binary.LittleEndian.Uint64(b[opTarg:])
		if uint32(kind)&typeBits == s.null && targ == uint64(s.nextstate) {
			cop = kid
		}
		if found := s.below(cop, kid, depth-1); found != 0 {
			return found
		}
		if uint32(kind)&moreBit == 0 {
			return 0
		}
		kid = binary.LittleEndian.Uint64(b[opSibling:])
	}
	return 0
}
