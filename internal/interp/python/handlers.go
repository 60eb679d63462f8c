package python

import (
	"cmp"
	"encoding/binary"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/callframe"
	"github.com/ringtap/ringtap/internal/interp"
)

// From 3.14 on the loop may be built so that each instruction has a function of its own
// (--with-tail-call-interp), which jumps by a table to that of the next one. The loop
// calls the first one; the frame of one of them lies on the loop's while it runs.
const (
	opcodes     = 256     // entries of the table
	minHandlers = 100     // of those entries, how many differ
	maxSmall    = 1 << 14 // bytes of a loop that has no instructions in it
	maxCallees  = 32      // of the loop, that are looked at for the table
	maxTables   = 1 << 10 // addresses that may be the table's
)

// handlers is a search for those functions, in amd64 code.
type handlers struct {
	memory interp.Memory
	module *interp.Module
	frames *callframe.Section
}

// findHandlers finds the functions of instructions by the table, to which the loop leads,
// or what it calls. There are none in most builds.
func findHandlers(p *interp.Process, m *interp.Module, loops []interp.Span) interp.Spans {
	size := uint64(0)
	for _, s := range loops {
		size += s.End - s.Start
	}
	if size > maxSmall || p.Arch != callchain.AMD64 {
		return nil
	}
	frames, err := callframe.EHFrame(m.Image)
	if err != nil || frames == nil {
		return nil
	}
	h := handlers{p.Memory, m, frames}
	var data, callees []uint64
	for _, s := range loops {
		start, _ := m.Image.Vaddr(s.Start)
		called, named := h.mentions(start, start+s.End-s.Start)
		data, callees = append(data, named...), append(callees, called...)
	}
	for _, callee := range callees[:min(len(callees), maxCallees)] {
		if start, end, ok := frames.FunctionStart(callee); ok {
			_, named := h.mentions(start, end)
			data = append(data, named...)
		}
	}
	for _, addr := range data[:min(len(data), maxTables)] {
		if found := h.table(addr); found != nil {
			return found
		}
	}
	return nil
}

// mentions is what code calls, and what else of it may be an address.
func (h *handlers) mentions(start, end uint64) (called, data []uint64) {
	code, err := h.module.Image.BytesAt(start, min(end-start, maxSmall))
	if err != nil {
		return nil, nil
	}
	for at := start; len(code) > 0; {
		inst, err := x86asm.Decode(code, 64)
		if err != nil {
			inst = x86asm.Inst{Len: 1} // what it does not know is left out byte by byte
		}
		at, code = at+uint64(inst.Len), code[inst.Len:]
		for _, arg := range inst.Args {
			switch arg := arg.(type) {
			case x86asm.Rel:
				if inst.Op == x86asm.CALL {
					called = append(called, at+uint64(int64(arg)))
				}
			case x86asm.Imm:
				data = h.add(data, uint64(arg))
			case x86asm.Mem:
				switch arg.Base {
				case x86asm.RIP:
					data = h.add(data, at+uint64(arg.Disp))
				case 0:
					data = h.add(data, uint64(arg.Disp))
				}
			}
		}
	}
	return called, data
}

// add appends an address where the file has something that is no code.
func (h *handlers) add(data []uint64, addr uint64) []uint64 {
	if _, ok := h.module.Image.Offset(addr); !ok || h.module.Image.Executable(addr) {
		return data
	}
	return append(data, addr)
}

// table is where the functions are that a table has, nil if it is none: all that it has
// is where functions begin.
func (h *handlers) table(addr uint64) (found interp.Spans) {
	var words [8 * opcodes]byte
	if addr%8 != 0 || !h.memory.Read(addr+h.module.Bias, words[:]) {
		return nil
	}
	for i := range opcodes {
		function := binary.LittleEndian.Uint64(words[8*i:]) - h.module.Bias
		start, end, ok := h.frames.FunctionStart(function)
		if !ok || start != function || !h.module.Image.Executable(function) {
			return nil
		}
		found = append(found, h.module.Span(interp.Symbol{Addr: start + h.module.Bias, Size: end - start}))
	}
	slices.SortFunc(found, func(a, b interp.Span) int { return cmp.Compare(a.Start, b.Start) })
	if found = slices.Compact(found); len(found) < minHandlers {
		return nil
	}
	return found
}

// Handler is of interp.Handlers.
func (r *python) Handler(f callchain.Frame) bool { return r.handlers.Has(f) }
