package interp

import (
	"encoding/binary"
	"iter"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/callframe"
	"github.com/ringtap/ringtap/internal/elfimage"
)

// Bounds on how much of a file is looked at for the pieces of one function: how many
// there are, bytes of each, other functions, and bytes of those.
const (
	maxPieces  = 8
	maxPiece   = 1 << 18
	maxRefused = 1 << 8
	maxOthers  = 1 << 18
)

// extent is code of a file, by virtual addresses.
type extent struct{ start, end uint64 }

func (e extent) has(addr uint64) bool { return e.start <= addr && addr < e.end }

// Pieces is where the code of a function is: what its symbol has, and the pieces that
// compilers put elsewhere, which only a full symbol table names (NAME.cold). Most of an
// interpreter's loop may be in one. The function jumps to a piece, and the piece jumps
// back to where no other function does: into the function, not to its beginning. A piece
// that does not come back is not found.
func (m *Module) Pieces(s Symbol, arch callchain.Arch) []Span {
	whole := extent{s.Addr - m.Bias, s.Addr - m.Bias + s.Size}
	found := []extent{whole}
	if frames, err := callframe.EHFrame(m.Image); err == nil && frames != nil {
		p := pieces{image: m.Image, frames: frames, arch: arch, found: found, others: maxOthers}
		p.follow()
		found = p.found
	}
	var spans []Span
	for _, e := range found {
		spans = append(spans, m.Span(Symbol{Addr: e.start + m.Bias, Size: e.end - e.start}))
	}
	return spans
}

// pieces is a search for the pieces of a function.
type pieces struct {
	image   *elfimage.Image
	frames  *callframe.Section
	arch    callchain.Arch
	found   []extent // the function first
	refused []extent // other functions
	others  int      // how many bytes of them may still be looked at
}

// follow finds the pieces that are reached from those that are found.
func (p *pieces) follow() {
	for i := 0; i < len(p.found); i++ {
		from := p.found[i]
		for to := range p.jumps(from, p.read(from, maxPiece)) {
			if len(p.found) == maxPieces || len(p.refused) == maxRefused || p.others <= 0 {
				return
			}
			if known(p.found, to) || known(p.refused, to) || !p.image.Executable(to) {
				continue
			}
			start, end, ok := p.frames.FunctionStart(to)
			if !ok {
				continue
			}
			if e := (extent{start, end}); p.jumpsBack(e) {
				p.found = append(p.found, e)
			} else {
				p.refused = append(p.refused, e)
			}
		}
	}
}

func known(extents []extent, addr uint64) bool {
	return slices.ContainsFunc(extents, func(e extent) bool { return e.has(addr) })
}

// jumpsBack tells whether code jumps into what is found.
func (p *pieces) jumpsBack(e extent) bool {
	code := p.read(e, p.others)
	for to := range p.jumps(e, code) {
		if to != p.found[0].start && known(p.found, to) {
			return true
		}
	}
	p.others -= len(code)
	return false
}

// read reads code, of which there may be less than was asked for.
func (p *pieces) read(e extent, limit int) []byte {
	if e.end <= e.start {
		return nil
	}
	code, err := p.image.BytesAt(e.start, min(e.end-e.start, uint64(limit)))
	if err != nil {
		return nil
	}
	return code
}

// jumps is where code jumps to beyond itself, by instructions that have the place.
func (p *pieces) jumps(e extent, code []byte) iter.Seq[uint64] {
	all := jumpsAMD64
	if p.arch == callchain.ARM64 {
		all = jumpsARM64
	}
	return func(yield func(uint64) bool) {
		for to := range all(e.start, code) {
			if !e.has(to) && !yield(to) {
				return
			}
		}
	}
}

// jumpsAMD64 is where jumps and conditional jumps lead to.
func jumpsAMD64(at uint64, code []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for end, inst := range instructions(at, code) {
			if to, ok := inst.Args[0].(x86asm.Rel); ok && inst.Op != x86asm.CALL && !yield(end+uint64(int64(to))) {
				return
			}
		}
	}
}

// jumpsARM64 is where b, b.cond, cbz, cbnz, tbz and tbnz lead to.
func jumpsARM64(at uint64, code []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for ; len(code) >= 4; at, code = at+4, code[4:] {
			word := binary.LittleEndian.Uint32(code)
			words, ok := ConditionalARM64(word)
			switch {
			case word>>26 == 0b000101: // b
				words = int32(word<<6) >> 6
			case !ok:
				continue
			}
			if !yield(at + uint64(int64(words)*4)) {
				return
			}
		}
	}
}

// ConditionalARM64 returns how far a conditional jump leads, in words of 4 bytes; false for any other
// instruction (Arm Architecture Reference Manual, C4.1).
func ConditionalARM64(word uint32) (words int32, ok bool) {
	switch {
	case word>>24 == 0b01010100, word>>25&0x3f == 0b011010: // b.cond, cbz, cbnz
		return int32(word<<8) >> 13, true
	case word>>25&0x3f == 0b011011: // tbz, tbnz
		return int32(word<<13) >> 18, true
	}
	return 0, false
}
