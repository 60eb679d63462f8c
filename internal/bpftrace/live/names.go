package live

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/symbols"
)

// Frames returns how many frames a stack of a hit has.
func (a *Attachment) Frames(n uint64) int { return a.stacks.frames(n) }

// Lines returns the frames of a stack, innermost first, until Close.
func (a *Attachment) Lines(n uint64, mode string) []string {
	if a.stacks == nil {
		return nil
	}
	return a.stacks.lines(n, mode)
}

// demangle returns the name of a symbol of a program as bpftrace prints it.
func (a *Attachment) demangle(symbol string) string {
	if !a.program.Config.CppDemangle {
		return symbol
	}
	return symbols.DemangleWhole(symbol)
}

// Address returns the number of a stack whose only frame is an address in the process of h. It
// returns false if no file is mapped at the address.
func (a *Attachment) Address(h *eval.Hit, address uint64) (uint64, bool) {
	of, ok := h.Values.(*hit)
	if !ok {
		return 0, false
	}
	return of.address(address)
}

// address returns the number of an address of the process: see Attachment.Address.
func (h *hit) address(address uint64) (uint64, bool) {
	mapping, ok := h.process().Find(address)
	if !ok {
		return 0, false
	}
	frame := callchain.Frame{Object: mapping.Object, Offset: mapping.Offset + address - mapping.Start}
	return h.feed.stacks.number([]callchain.Frame{frame}), true
}

// variable returns the address of a variable of the probed file in the hit's process, or 0 if it is
// unknown. offset is counted from the start of the file, as if all of it were mapped like the code that was hit.
func (h *hit) variable(offset int64) uint64 {
	addr, ok := firstAddress(h.raw)
	if !ok {
		return 0
	}
	mapping, ok := h.process().Find(addr)
	if !ok {
		return 0
	}
	return mapping.Start - mapping.Offset + uint64(offset)
}

// functions are the functions of the kernel, or of programs, that clauses have asked for with func.
type functions struct {
	numbers map[string]uint64 // number of each function, by its name: see hit.symbol
	names   map[uint64]string // name of each function, by its number
}

// functionsAt returns the functions of programs if place is plan.User, and otherwise those of the kernel.
func (a *Attachment) functionsAt(place plan.Place) *functions {
	if place == plan.User {
		return &a.userFunctions
	}
	return &a.kernelFunctions
}

// symbol returns the number of the function that was hit. It is the address of the function's first
// hit or, for a program, the number that Address gives it. So a function has the same number at its
// entry and at its return.
func (h *hit) symbol() uint64 {
	name := h.function()
	user := h.source.event.Place == plan.User
	known := h.feed.functionsAt(h.source.event.Place)
	if n, ok := known.numbers[name]; ok {
		return n
	}
	n, ok := firstAddress(h.raw)
	if !ok {
		return 0
	}
	if user {
		if numbered, ok := h.address(n); ok {
			n = numbered
		}
	}
	if known.numbers == nil {
		*known = functions{make(map[string]uint64), make(map[uint64]string)}
	}
	known.numbers[name] = n
	if known.names[n] == "" {
		if user {
			name = h.feed.demangle(name)
		}
		known.names[n] = name
	}
	return n
}

// Symbol returns the name of an address that Address has given a number, or of a function that
// was hit, without the distance from its start. It returns "" for other numbers.
func (a *Attachment) Symbol(n uint64, user bool) string {
	if user {
		if name := a.userFunctions.names[n]; name != "" {
			return name
		}
	} else {
		return a.kernelFunctions.names[n]
	}
	if a.stacks == nil {
		return ""
	}
	return a.stacks.function(n)
}
