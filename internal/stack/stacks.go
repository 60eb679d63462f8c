package stack

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/perfevent"
)

// Unwind is a way to find the callers of user code.
type Unwind string

// The values of --unwind.
const (
	// Auto unwinds a copy of the stack by the objects' unwind tables. It uses the kernel's frame
	// pointer walk for code that keeps frame pointers, and beyond the end of the copy.
	Auto Unwind = "auto"
	// FP takes the kernel's frame pointer walk and repairs the leaf.
	FP Unwind = "fp"
	// DWARF only unwinds a copy of the stack.
	DWARF Unwind = "dwarf"
)

// Unwinds returns all ways to unwind.
func Unwinds() []Unwind { return []Unwind{Auto, FP, DWARF} }

const (
	// deepCopy is how many bytes of the stack are copied for unwinding: the kernel's maximum.
	// perf's default of 8 KiB cuts most stacks of large Rust and C++ programs short.
	deepCopy = perfevent.MaxUserStack
	// fastCopy is used instead if more than fastFrequency samples come per second, so that a ring
	// has room for half a second.
	fastCopy      = 32 << 10
	fastFrequency = 250
	// leafCopy is enough for the return address of a function that has no frame, or has not set it
	// up yet.
	leafCopy = 256
)

// Sizes of copies, in bytes, if each event is a sample. The copy then is most of what an event
// costs the program.
const (
	// StormCopy is the first size if there may be a million events a second.
	StormCopy = 512
	// RareCopy is the size for less frequent events. Most stacks are whole then.
	RareCopy = 4 << 10
)

// Stacks says which stacks samples have and how they are unwound.
type Stacks struct {
	User, Kernel bool
	Unwind       Unwind
	// Copy is how many bytes of the user stack are copied for unwinding. 0 chooses by the
	// sampling's frequency.
	Copy uint32
	// Budget is how many bytes a second all copies together may take. Copies grow within the budget
	// if stacks are cut short, and shrink if samples come faster. 0 is no limit.
	Budget uint64
	// Entry says that every sample is taken at a function's first instruction.
	Entry bool
	// Interpreted asks for the interpreted functions at the time of each sample: see
	// Store.ReadAtSamples.
	Interpreted bool
	// Beyond asks for the whole stack if it is deeper than the copy. It is read at the time of the
	// sample. It needs Interpreted.
	Beyond bool
	// Native asks for User.Native.
	Native bool
	// Settle is how many nanoseconds after a process's first cut stack its stacks are read beyond
	// the copies. If copies grow, most stacks are whole by then.
	Settle uint64
}

// Deep returns the stacks with interpreted functions, and with whole stacks beyond the copies. It
// is for samplings in which each event is a sample, so that copies grow.
func (s Stacks) Deep() Stacks {
	s.Interpreted, s.Beyond, s.Settle = s.User, s.User, settle
	return s
}

// settle is four intervals of Growth.Look. Three are enough for copies to grow to their maximum.
const settle = 1e9

// Copying returns the stacks with copies of that many bytes, unless Copy is set already.
func (s Stacks) Copying(bytes uint32) Stacks {
	if s.Copy == 0 {
		s.Copy = bytes
	}
	return s
}

// Prepare adds to a sampling everything that its samples need for the stacks.
func (s Stacks) Prepare(sampling *perfevent.Sampling) {
	sampling.Callchain.Kernel = s.Kernel && !sampling.ExcludeKernel
	if !s.User {
		return
	}
	sampling.UserRegs = callchain.Host().UserRegsMask()
	switch {
	case s.Interpreted:
		sampling.WakeupEvents, sampling.UserRegs = 1, helper.Registers
	case s.Entry:
		sampling.UserRegs = callchain.Host().EntryRegsMask()
	}
	switch {
	case s.Unwind == FP:
		sampling.UserStack = leafCopy
	case s.Copy > 0:
		sampling.UserStack = s.Copy
	case sampling.Frequency > fastFrequency:
		sampling.UserStack = fastCopy
	default:
		sampling.UserStack = deepCopy
	}
	// If each event is a sample, the kernel's walk would cost the program more than a small copy.
	sampling.Callchain.User = s.Unwind == FP || s.Unwind == Auto && sampling.Period != 1
}
