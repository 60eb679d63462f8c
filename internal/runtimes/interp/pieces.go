package interp

import (
	"encoding/binary"
	"iter"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/callframe"
	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Bounds on the search for the pieces of one function: pieces found, bytes of each, functions
// rejected, and bytes read of these.
const (
	maxPieces  = 8
	maxPiece   = 1 << 18
	maxRefused = 1 << 8
	maxOthers  = 1 << 18
)

// extent is a range of a file's code, by virtual addresses.
type extent struct{ start, end uint64 }

func (e extent) has(addr uint64) bool { return e.start <= addr && addr < e.end }

// Pieces returns the code of a function: its symbol's range, and the pieces that compilers put
// elsewhere. Only a full symbol table names these (NAME.cold), and most of an interpreter's
// loop may be in one. The function jumps to the piece. The piece jumps back into the function,
// not to its start, which no other function does. A piece that does not jump back is not found.
func (m *Module) Pieces(s Symbol, arch callchain.Arch) []Span {
	return m.spans(m.search(foundPieces, s, func(whole extent) []extent {
		found := []extent{whole}
		if frames, err := callframe.EHFrame(m.Image); err == nil && frames != nil {
			p := pieces{image: m.Image, frames: frames, arch: arch, found: found, others: maxOthers}
			p.follow()
			found = p.found
		}
		return found
	}))
}

// pieces searches for the pieces of a function.
type pieces struct {
	image   *elfimage.Image
	frames  *callframe.Section
	arch    callchain.Arch
	found   []extent // the function first
	refused []extent // other functions
	others  int      // how many more of their bytes may be read
}

// follow finds the pieces reached from those already found.
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

// jumpsBack reports whether e jumps into the pieces found so far.
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

// read returns the code of e, at most limit bytes.
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

// jumps yields the targets of direct jumps in code that lead out of e.
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

// jumpsAMD64 yields the targets of jumps and conditional jumps in the code at pc.
func jumpsAMD64(pc uint64, code []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for end, inst := range instructions(pc, code) {
			if to, ok := inst.Args[0].(x86asm.Rel); ok && inst.Op != x86asm.CALL && !yield(end+uint64(int64(to))) {
				return
			}
		}
	}
}

// jumpsARM64 yields the targets of b, b.cond, cbz, cbnz, tbz and tbnz in the code at pc.
func jumpsARM64(pc uint64, code []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for ; len(code) >= 4; pc, code = pc+4, code[4:] {
			word := binary.LittleEndian.Uint32(code)
			words, ok := ConditionalARM64(word)
			switch {
			case word>>26 == 0b000101: // b
				words = int32(word<<6) >> 6
			case !ok:
				continue
			}
			if !yield(pc + uint64(int64(words)*4)) {
				return
			}
		}
	}
}

// ConditionalARM64 returns the distance of a conditional jump, in words of 4 bytes. It returns
// false for other instructions (Arm Architecture Reference Manual, C4.1).
func ConditionalARM64(word uint32) (words int32, ok bool) {
	switch {
	case word>>24 == 0b01010100, word>>25&0x3f == 0b011010: // b.cond, cbz, cbnz
		return int32(word<<8) >> 13, true
	case word>>25&0x3f == 0b011011: // tbz, tbnz
		return int32(word<<13) >> 18, true
	}
	return 0, false
}
