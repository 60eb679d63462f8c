package stack

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// Unwind is a way of finding the callers of user code.
type Unwind string

// The ways of --unwind.
const (
	// Auto unwinds a copy of the stack by the objects' unwind tables, uses the
	// kernel's walk for code that keeps frame pointers, and continues with it
	// where the copy ends too early.
	Auto Unwind = "auto"
	// FP takes the kernel's walk of the frame pointers and repairs the leaf.
	FP Unwind = "fp"
	// DWARF unwinds a copy of the stack and nothing else.
	DWARF Unwind = "dwarf"
)

// Unwinds are all ways of unwinding.
func Unwinds() []Unwind { return []Unwind{Auto, FP, DWARF} }

const (
	// deepCopy is how much of a stack is copied where it is unwound: all that
	// the kernel can. perf's own 8 KiB cut most stacks of large Rust and C++
	// programs short.
	deepCopy = perfevent.MaxUserStack
	// fastCopy is the same where samples come faster than fastFrequency a
	// second, so that half a second of them fits in a ring.
	fastCopy      = 32 << 10
	fastFrequency = 250
	// leafCopy is enough to find the return address of a function that has
	// not set up its frame, or has none.
	leafCopy = 256
)

// Copies where every event is a sample and the copy is what costs the program most,
// in bytes.
const (
	// StormCopy is the first copy where events may come a million times a second.
	StormCopy = 512
	// RareCopy is for events that are not so many: most stacks are whole then.
	RareCopy = 4 << 10
)

// Stacks says which stacks a sample has and how they are found.
type Stacks struct {
	User, Kernel bool
	Unwind       Unwind
	// Copy is the number of bytes of the user stack that a sample carries where
	// it is unwound; 0 chooses by the sampling's frequency.
	Copy uint32
	// Budget is how many bytes a second all copies together may take: they grow, where
	// chains come out cut, as long as they stay within it, and become smaller where
	// samples come faster. 0 is no bound.
	Budget uint64
	// Entry says that every sample is taken at a function's first instruction.
	Entry bool
	// Moments asks for the functions of interpreted code at the moments of the samples: see
	// Store.Moments.
	Moments bool
	// Beyond has stacks that are deeper than the copy read at the moments of the samples, with
	// Moments.
	Beyond bool
	// Native says that User.Native is asked for.
	Native bool
	// Settle is how long after the first stack of a process that is cut its stacks are read beyond the
	// copies, in nanoseconds: where copies grow, most stacks are whole by then.
	Settle uint64
}

// Deep has stacks show interpreted functions and be read beyond the copies at the moments of the samples,
// of which each is an event, so that copies grow.
func (s Stacks) Deep() Stacks {
	s.Moments, s.Beyond, s.Settle = s.User, s.User, settle
	return s
}

// settle is the time of four looks at whether copies are to grow: three make them as large as they become.
const settle = 1e9

// Copying returns the stacks with copies of so many bytes, unless Copy says how many.
func (s Stacks) Copying(bytes uint32) Stacks {
	if s.Copy == 0 {
		s.Copy = bytes
	}
	return s
}

// Prepare adds to a sampling what the stacks need of each sample.
func (s Stacks) Prepare(sampling *perfevent.Sampling) {
	sampling.Callchain.Kernel = s.Kernel && !sampling.ExcludeKernel
	if !s.User {
		return
	}
	sampling.UserRegs = callchain.Host().UserRegsMask()
	switch {
	case s.Moments:
		sampling.Soon, sampling.UserRegs = true, near.Registers
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
	// Where every event is a sample, the kernel's walk would cost the program
	// more than a small copy does.
	sampling.Callchain.User = s.Unwind == FP || s.Unwind == Auto && sampling.Period != 1
}
