package interp

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/callframe"
)

// maxCallees bounds the functions examined to find a core. A core has at least minDispatches
// jumps to an address that it reads. maxHandlers bounds the functions that run instructions.
const (
	maxCallees    = 64
	minDispatches = 32
	maxHandlers   = 1 << 12
)

// Core returns the code of the function that caller calls to run an interpreter's instructions,
// each of which jumps to the next one. It returns nil if caller calls no such function. The
// function often has no symbol.
func (m *Module) Core(caller Symbol, arch callchain.Arch) []Span {
	for _, core := range m.search(foundCore, caller, func(in extent) []extent { return m.core(in, arch) }) {
		return m.Pieces(m.symbolOf(core), arch)
	}
	return nil
}

// core returns the function that Core looks for, or nothing.
func (m *Module) core(caller extent, arch callchain.Arch) []extent {
	frames, err := callframe.EHFrame(m.Image)
	if err != nil || frames == nil {
		return nil
	}
	p := pieces{image: m.Image, arch: arch}
	var core extent
	most, seen := minDispatches-1, make(map[uint64]bool)
	for callee := range p.calls(caller.start, p.read(caller, maxPiece)) {
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
	return []extent{core}
}

// Handlers returns the code of the functions that an interpreter's loop calls to run
// instructions, sorted. When one returns, the loop continues with the next instruction.
func (m *Module) Handlers(loop Symbol, arch callchain.Arch) Spans {
	return m.spans(m.search(foundHandlers, loop, func(in extent) []extent { return m.handlers(in, arch) }))
}

// handlers returns the functions that Handlers looks for.
func (m *Module) handlers(loop extent, arch callchain.Arch) (found []extent) {
	frames, err := callframe.EHFrame(m.Image)
	if err != nil || frames == nil {
		return nil
	}
	p := pieces{image: m.Image, arch: arch}
	seen := make(map[uint64]bool)
	for handler := range p.handlers(loop.start, p.read(loop, maxPiece)) {
		if seen[handler] || len(seen) == maxHandlers {
			continue
		}
		seen[handler] = true
		if start, end, ok := frames.FunctionStart(handler); ok && start == handler && m.Image.Executable(handler) {
			found = append(found, extent{start, end})
		}
	}
	slices.SortFunc(found, func(a, b extent) int { return cmp.Compare(a.start, b.start) })
	return found
}

// handlers yields the functions that the code at pc calls just before it jumps to an address
// that it reads.
func (p *pieces) handlers(pc uint64, code []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if p.arch == callchain.ARM64 {
			for ; len(code) >= 12; pc, code = pc+4, code[4:] {
				jump := binary.LittleEndian.Uint32(code[4:])
				if jump&0xffc00000 == 0xf9400000 { // ldr
					jump = binary.LittleEndian.Uint32(code[8:])
				}
				if to, ok := branchAndLink(pc, code); ok && isBranchToRegister(jump) && !yield(to) {
					return
				}
			}
			return
		}
		called, calls := uint64(0), false
		for end, inst := range instructions(pc, code) {
			to, isPlace := inst.Args[0].(x86asm.Rel)
			if calls && inst.Op == x86asm.JMP && !isPlace && !yield(called) {
				return
			}
			called, calls = end+uint64(int64(to)), isPlace && inst.Op == x86asm.CALL
		}
	}
}

// branchAndLink returns the target of bl, if the arm64 code at pc starts with one.
func branchAndLink(pc uint64, code []byte) (to uint64, ok bool) {
	word := binary.LittleEndian.Uint32(code)
	return pc + uint64(int64(int32(word<<6)>>6*4)), word>>26 == 0b100101
}

// isBranchToRegister reports whether an instruction is br.
func isBranchToRegister(word uint32) bool { return word&^(31<<5) == 0xd61f0000 }

// calls yields the targets of the direct calls in the code at pc.
func (p *pieces) calls(pc uint64, code []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if p.arch == callchain.ARM64 {
			for ; len(code) >= 4; pc, code = pc+4, code[4:] {
				if to, ok := branchAndLink(pc, code); ok && !yield(to) {
					return
				}
			}
			return
		}
		for end, inst := range instructions(pc, code) {
			if to, ok := inst.Args[0].(x86asm.Rel); ok && inst.Op == x86asm.CALL && !yield(end+uint64(int64(to))) {
				return
			}
		}
	}
}

// dispatches returns how many jumps in code lead to an address that was read.
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

// instructions yields the instructions of the amd64 code at pc, each with its end address. It
// skips bytes that the decoder does not know.
func instructions(pc uint64, code []byte) iter.Seq2[uint64, x86asm.Inst] {
	return func(yield func(uint64, x86asm.Inst) bool) {
		for len(code) > 0 {
			inst, err := x86asm.Decode(code, 64)
			if err != nil {
				pc, code = pc+1, code[1:]
				continue
			}
			pc, code = pc+uint64(inst.Len), code[inst.Len:]
			if !yield(pc, inst) {
				return
			}
		}
	}
}

// Runner returns the function that caller calls to run code. It either runs the instructions
// itself, or has a Core that does.
func (m *Module) Runner(caller Symbol, arch callchain.Arch) (Symbol, bool) {
	for _, runner := range m.search(foundRunner, caller, func(in extent) []extent { return m.runner(in, arch) }) {
		return m.symbolOf(runner), true
	}
	return Symbol{}, false
}

// runner returns the function that Runner looks for, or nothing.
func (m *Module) runner(caller extent, arch callchain.Arch) []extent {
	frames, err := callframe.EHFrame(m.Image)
	if err != nil || frames == nil {
		return nil
	}
	p := pieces{image: m.Image, arch: arch}
	code := p.read(caller, maxPiece)
	seen := make(map[uint64]bool)
	runner := func(callees iter.Seq[uint64]) []extent {
		for callee := range callees {
			if seen[callee] || len(seen) == maxCallees || !m.Image.Executable(callee) {
				continue
			}
			seen[callee] = true
			start, end, ok := frames.FunctionStart(callee)
			if !ok || start != callee {
				continue
			}
			e := extent{start, end}
			if p.dispatches(p.read(e, maxPiece)) >= minDispatches || m.core(e, arch) != nil {
				return []extent{e}
			}
		}
		return nil
	}
	if found := runner(p.jumps(caller, code)); found != nil { // prefer a tail call
		return found
	}
	return runner(p.calls(caller.start, code))
}

// Variable returns the address of the first word that function loads from a fixed address.
func (m *Module) Variable(function Symbol, arch callchain.Arch) (addr uint64, ok bool) {
	p := pieces{image: m.Image, arch: arch}
	start := function.Addr - m.Bias
	code := p.read(extent{start, start + function.Size}, maxPiece)
	if addr, ok = firstLoad(start, code, arch); !ok {
		return 0, false
	}
	return addr + m.Bias, true
}

// firstLoad returns the address that the first load of a word reads: mov relative to the
// instruction pointer on amd64, adrp and ldr on arm64.
func firstLoad(pc uint64, code []byte, arch callchain.Arch) (addr uint64, ok bool) {
	if arch == callchain.ARM64 {
		const page = 1 << 12
		const isSet = 1
		var pages [32]uint64 // page addresses held by registers
		for ; len(code) >= 4; pc, code = pc+4, code[4:] {
			word := binary.LittleEndian.Uint32(code)
			switch register := word & 31; {
			case word&0x9f000000 == 0x90000000: // adrp
				pages[register] = pc&^(page-1) + uint64(int64(int32(word<<8)>>13<<2|int32(word>>29&3)))*page | isSet
			case word&0xffc00000 == 0xf9400000 && pages[word>>5&31] != 0: // ldr
				return pages[word>>5&31] - isSet + uint64(word>>10&0xfff)*8, true
			}
		}
		return 0, false
	}
	for end, inst := range instructions(pc, code) {
		if from, isMemory := inst.Args[1].(x86asm.Mem); inst.Op == x86asm.MOV && inst.DataSize == 64 && isMemory && from.Base == x86asm.RIP {
			return end + uint64(int64(int32(from.Disp))), true
		}
	}
	return 0, false
}
