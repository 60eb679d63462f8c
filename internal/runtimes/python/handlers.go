package python

import (
	"cmp"
	"encoding/binary"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/callframe"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// From 3.14 on the loop may be built so that each instruction is a function
// (--with-tail-call-interp), which jumps to the next one's function through a table. The loop
// calls the first one. While one of them runs, its frame is on top of the loop's.
const (
	opcodes     = 256     // entries in the table
	minHandlers = 100     // how many distinct entries the table has at least
	maxSmall    = 1 << 14 // largest size in bytes of a loop without instructions in it
	maxCallees  = 32      // functions called by the loop that are searched for the table
	maxTables   = 1 << 10 // candidate addresses of the table
)

// handlers searches amd64 code for those functions.
type handlers struct {
	memory interp.Memory
	module *interp.Module
	frames *callframe.Section
}

// findHandlers finds the instructions' functions through the table, which the loop refers to,
// or a function that it calls. Most builds have none.
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

// mentions returns the functions that code calls, and the other addresses it may contain.
func (h *handlers) mentions(start, end uint64) (called, data []uint64) {
	code, err := h.module.Image.BytesAt(start, min(end-start, maxSmall))
	if err != nil {
		return nil, nil
	}
	for at := start; len(code) > 0; {
		inst, err := x86asm.Decode(code, 64)
		if err != nil {
			inst = x86asm.Inst{Len: 1} // skip unknown code byte by byte
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

// add appends addr if it is an address in the file that is not code.
func (h *handlers) add(data []uint64, addr uint64) []uint64 {
	if _, ok := h.module.Image.Offset(addr); !ok || h.module.Image.Executable(addr) {
		return data
	}
	return append(data, addr)
}

// table returns the functions in the table at addr. It returns nil if that is not the table:
// each entry must be the start of a function.
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

// Handler implements interp.Handlers.
func (r *python) Handler(f callchain.Frame) bool { return r.handlers.Has(f) }
