package dwarfparam

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/arch"
)

const (
	whyClone   = "the optimizer changed how this copy of the function is called"
	whyChanged = "the optimizer changed how this function is called"
	whyFloat   = "it is passed in a floating-point register, which probes can't read"
	whyNoRules = "it is not told where it is, and the calling convention is not known"
)

// convention places the values of all parameters as a caller does.
type convention func(result *typ, params []*typ) []placement

// conventionOf returns the convention of the function's language and machine, or nil if it is
// not known.
func (r *reader) conventionOf() convention {
	m := r.architecture()
	if r.fn.AddrSize() != 8 || m != arch.AMD64 && m != arch.ARM64 {
		return nil
	}
	switch r.lang {
	case langC, langCPlusPlus:
		if m == arch.AMD64 {
			return placeSysV
		}
		return placeAAPCS64
	case langRust:
		return r.placeRust
	case langGo:
		if strings.Contains(r.fn.Producer(), "regabi") {
			return r.placeGo
		}
	}
	return nil
}

// placeAll chooses for each parameter between the described location and the convention's.
func (r *reader) placeAll(rules convention, formals []formal) []placement {
	described := make([]description, len(formals))
	types := make([]*typ, len(formals))
	for i := range formals {
		described[i] = r.describe(&formals[i])
		if types[i] = formals[i].typ; described[i].byReference && types[i].class == classAggregate && !types[i].byReference {
			pointed := *types[i]
			pointed.byReference = true
			types[i] = &pointed
		}
	}
	var derived []placement
	why := ""
	switch {
	case rules == nil:
		why = whyNoRules
	case r.Clone:
		why = whyClone
	default:
		derived = rules(r.result(), types)
		for i := range formals {
			// Go describes the stack slot that a register is saved to; all of
			// its functions follow the convention.
			if r.lang != langGo && described[i].contradicts(derived[i]) {
				derived, why = nil, whyChanged
				break
			}
		}
	}
	placed := make([]placement, len(formals))
	for i := range formals {
		d := described[i].placement
		trusted := d.known() && (r.lang != langGo || rules == nil || d.inRegisters())
		switch {
		case trusted || d.why == whyKnown:
			placed[i] = d
		case derived != nil:
			placed[i] = derived[i]
		case len(d.pieces) > 0 && d.inRegisters():
			placed[i] = d
		default:
			placed[i] = nowhere(fmt.Sprintf("%s; %s", cmpOr(d.why, whyUnknown), why))
		}
	}
	return placed
}

func cmpOr(x, y string) string {
	if x != "" {
		return x
	}
	return y
}

// arguments assigns locations to the arguments of one call.
type arguments struct {
	general   []*arch.Register // not assigned yet
	floats    int              // number of floating-point registers not assigned yet
	stack     int64            // offset of the next stack argument from the CFA
	lost      string
	perSlot   uint64 // alignment and size of stack slots, in bytes
	wholeSlot bool   // arguments take whole slots
}

// newArguments returns the initial state for a call by a C convention.
func newArguments(c *arch.Convention) *arguments {
	return &arguments{general: c.Arguments, floats: c.Floats, perSlot: 8, wholeSlot: true}
}

// word assigns the next general register.
func (a *arguments) word() Location {
	next := a.general[0]
	a.general = a.general[1:]
	return Location{Where: Register, Register: int(next.DWARF)}
}

// onStack places a value on the stack.
func (a *arguments) onStack(t *typ) placement {
	align := int64(max(t.align, a.perSlot))
	a.stack = (a.stack + align - 1) &^ (align - 1)
	p := inOne(t, Location{Where: Stack, Offset: a.stack})
	size := t.size
	if a.wholeSlot {
		size = (size + a.perSlot - 1) &^ (a.perSlot - 1)
	}
	a.stack += int64(min(size, 1<<40))
	return p
}

// reference places a value whose address is passed.
func (a *arguments) reference(t *typ) placement {
	if len(a.general) == 0 {
		a.onStack(&typ{size: 8, align: 8})
		return nowhere("its address is on the stack")
	}
	return inOne(t, Location{Where: Memory, Register: a.word().Register})
}

// float assigns a floating-point register.
func (a *arguments) float() Location {
	a.floats--
	return Location{Why: whyFloat}
}
