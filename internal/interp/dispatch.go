package interp

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/callframe"
)

// Bounds of what is looked at for a core: functions, and how many of its instructions lead to the
// next one by an address that they read, at least; and how many functions run instructions.
const (
	maxCallees    = 64
	minDispatches = 32
	maxHandlers   = 1 << 12
)

// Core is where the code of the function is that another one calls to run the instructions of an
// interpreter, each of which jumps to the next one; nowhere if it calls none. It has often no symbol.
func (m *Module) Core(caller Symbol, arch callchain.Arch) []Span {
	frames, err := callframe.EHFrame(m.Image)
	if err != nil || frames == nil {
		return nil
	}
	p := pieces{image: m.Image, arch: arch}
	start := caller.Addr - m.Bias
	var core extent
	most, seen := minDispatches-1, make(map[uint64]bool)
	for callee := range p.calls(start, p.read(extent{start, start + caller.Size}, maxPiece)) {
		if seen[callee] || len(seen) == maxCallees || !m.Image.Executable(callee) {
			continue
		}
		seen[callee] = true
		start, end, ok := frames.FunctionStart(callee)
		if !ok || start != callee {
			continue
		}
		e := extent{start, end}
		if n := p.dispatches(p.read(e, maxPiece)); n > most {
			core, most = e, n
		}
	}
	if core.end == 0 {
		return nil
	}
	return m.Pieces(Symbol{Addr: core.start + m.Bias, Size: core.end - core.start}, arch)
}

// Handlers is where the code of the functions is that an interpreter's loop calls to run instructions
// for it, sorted: the loop goes on with the next instruction as soon as one returns.
func (m *Module) Handlers(loop Symbol, arch callchain.Arch) Spans {
	frames, err := callframe.EHFrame(m.Image)
	if err != nil || frames == nil {
		return nil
	}
	p := pieces{image: m.Image, arch: arch}
	start := loop.Addr - m.Bias
	var found Spans
	seen := make(map[uint64]bool)
	for handler := range p.handlers(start, p.read(extent{start, start + loop.Size}, maxPiece)) {
		if seen[handler] || len(seen) == maxHandlers {
			continue
		}
		seen[handler] = true
		if start, end, ok := frames.FunctionStart(handler); ok && start == handler && m.Image.Executable(handler) {
			found = append(found, m.Span(Symbol{Addr: start + m.Bias, Size: end - start}))
		}
	}
	slices.SortFunc(found, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	return found
}

// handlers is what code calls where it then jumps to an address that it reads.
func (p *pieces) handlers(at uint64, code []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if p.arch == callchain.ARM64 {
			for ; len(code) >= 12; at, code = at+4, code[4:] {
				jump := binary.LittleEndian.Uint32(code[4:])
				if jump&0xffc00000 == 0xf9400000 { // ldr
					jump = binary.LittleEndian.Uint32(code[8:])
				}
				if to, ok := branchAndLink(at, code); ok && isBranchToRegister(jump) && !yield(to) {
					return
				}
			}
			return
		}
		called, calls := uint64(0), false
		for end, inst := range instructions(at, code) {
			to, isPlace := inst.Args[0].(x86asm.Rel)
			if calls && inst.Op == x86asm.JMP && !isPlace && !yield(called) {
				return
			}
			called, calls = end+uint64(int64(to)), isPlace && inst.Op == x86asm.CALL
		}
	}
}

// branchAndLink is where bl leads to, if arm64 code begins with it.
func branchAndLink(at uint64, code []byte) (to uint64, ok bool) {
	word := binary.LittleEndian.Uint32(code)
	return at + uint64(int64(int32(word<<6)>>6*4)), word>>26 == 0b100101
}

// isBranchToRegister tells whether an instruction is br.
func isBranchToRegister(word uint32) bool { return word&^(31<<5) == 0xd61f0000 }

// calls is what code calls, by instructions that have the place.
func (p *pieces) calls(at uint64, code []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if p.arch == callchain.ARM64 {
			for ; len(code) >= 4; at, code = at+4, code[4:] {
				if to, ok := branchAndLink(at, code); ok && !yield(to) {
					return
				}
			}
			return
		}
		for end, inst := range instructions(at, code) {
			if to, ok := inst.Args[0].(x86asm.Rel); ok && inst.Op == x86asm.CALL && !yield(end+uint64(int64(to))) {
				return
			}
		}
	}
}

// dispatches is how many jumps in code lead to an address that was read.
func (p *pieces) dispatches(code []byte) (n int) {
	if p.arch == callchain.ARM64 {
		for ; len(code) >= 4; code = code[4:] {
			if isBranchToRegister(binary.LittleEndian.Uint32(code)) {
				n++
			}
		}
		return n
	}
	for _, inst := range instructions(0, code) {
		if _, isPlace := inst.Args[0].(x86asm.Rel); inst.Op == x86asm.JMP && !isPlace {
			n++
		}
	}
	return n
}

// instructions are those of amd64 code, by the address that each ends at. What the decoder does not
// know is left out byte by byte.
func instructions(at uint64, code []byte) iter.Seq2[uint64, x86asm.Inst] {
	return func(yield func(uint64, x86asm.Inst) bool) {
		for len(code) > 0 {
			inst, err := x86asm.Decode(code, 64)
			if err != nil {
				at, code = at+1, code[1:]
				continue
			}
			at, code = at+uint64(inst.Len), code[inst.Len:]
			if !yield(at, inst) {
				return
			}
		}
	}
}

// Runner is the function that another one calls to run code: it runs the instructions itself, or has a
// Core that does.
func (m *Module) Runner(caller Symbol, arch callchain.Arch) (Symbol, bool) {
	frames, err := callframe.EHFrame(m.Image)
	if err != nil || frames == nil {
		return Symbol{}, false
	}
	p := pieces{image: m.Image, arch: arch}
	e := extent{caller.Addr - m.Bias, caller.Addr - m.Bias + caller.Size}
	code := p.read(e, maxPiece)
	seen := make(map[uint64]bool)
	runner := func(callees iter.Seq[uint64]) (Symbol, bool) {
		for callee := range callees {
			if seen[callee] || len(seen) == maxCallees || !m.Image.Executable(callee) {
				continue
			}
			seen[callee] = true
			start, end, ok := frames.FunctionStart(callee)
			if !ok || start != callee {
				continue
			}
			s := Symbol{Addr: start + m.Bias, Size: end - start}
			if p.dispatches(p.read(extent{start, end}, maxPiece)) >= minDispatches || m.Core(s, arch) != nil {
				return s, true
			}
		}
		return Symbol{}, false
	}
	if s, ok := runner(p.jumps(e, code)); ok { // what it ends with
		return s, true
	}
	return runner(p.calls(e.start, code))
}

// Variable is the first word that a function loads from a place that its code has.
func (m *Module) Variable(function Symbol, arch callchain.Arch) (addr uint64, ok bool) {
	p := pieces{image: m.Image, arch: arch}
	start := function.Addr - m.Bias
	code := p.read(extent{start, start + function.Size}, maxPiece)
	if addr, ok = firstLoad(start, code, arch); !ok {
		return 0, false
	}
	return addr + m.Bias, true
}

// firstLoad is the place of the first load of a word: mov with an address behind the instruction; adrp and ldr.
func firstLoad(at uint64, code []byte, arch callchain.Arch) (addr uint64, ok bool) {
	if arch == callchain.ARM64 {
		const page = 1 << 12
		const isSet = 1
		var pages [32]uint64 // that registers hold
		for ; len(code) >= 4; at, code = at+4, code[4:] {
			word := binary.LittleEndian.Uint32(code)
			switch register := word & 31; {
			case word&0x9f000000 == 0x90000000: // adrp
				pages[register] = at&^(page-1) + uint64(int64(int32(word<<8)>>13<<2|int32(word>>29&3)))*page | isSet
			case word&0xffc00000 == 0xf9400000 && pages[word>>5&31] != 0: // ldr
				return pages[word>>5&31] - isSet + uint64(word>>10&0xfff)*8, true
			}
		}
		return 0, false
	}
	for end, inst := range instructions(at, code) {
		if from, isMemory := inst.Args[1].(x86asm.Mem); inst.Op == x86asm.MOV && inst.DataSize == 64 && isMemory && from.Base == x86asm.RIP {
			return end + uint64(int64(int32(from.Disp))), true
		}
	}
	return 0, false
}
