package live

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/script/eval"
	"github.com/ringtap/ringtap/internal/script/plan"
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

// Address returns the number of a stack that is an address of the process of the hit under way
// alone. It is false for an address that is in no file.
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

// variable returns the address of what is that far from where the start of the probed file would be if it
// were mapped as the code is that was hit; 0 if that is not known.
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
	numbers map[string]uint64 // what stands for each
	names   map[uint64]string // by what stands for them
}

// functionsAt returns the functions that an event's probes name.
func (a *Attachment) functionsAt(place plan.Place) *functions {
	if place == plan.User {
		return &a.userFunctions
	}
	return &a.kernelFunctions
}

// symbol is what stands for the function that was hit: where its first hit was, of a program by
// the number of that address. So a function is the same at its entry and at its return.
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
