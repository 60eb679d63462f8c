package collect

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
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
	// abi64 is PERF_SAMPLE_REGS_ABI_64: registers of a 64-bit program.
	abi64 = 2
)

// Stacks says which stacks a sample has and how they are found.
type Stacks struct {
	User, Kernel bool
	Unwind       Unwind
}

// ask adds to a sampling what the stacks need of each sample.
func (s Stacks) ask(sampling *perfevent.Sampling) {
	sampling.Callchain.Kernel = s.Kernel && !sampling.ExcludeKernel
	if !s.User {
		return
	}
	sampling.UserRegs = callchain.Host().UserRegsMask()
	switch {
	case s.Unwind == FP:
		sampling.UserStack = leafCopy
	case sampling.Frequency > fastFrequency:
		sampling.UserStack = fastCopy
	default:
		sampling.UserStack = deepCopy
	}
	sampling.Callchain.User = s.Unwind != DWARF
}

// stacker makes frames of samples. It belongs to one goroutine.
type stacker struct {
	Stacks
	unwinder *callchain.Unwinder
	maxStack int // entries after which the kernel stops a callchain
	capture  callchain.Capture
	frames   []callchain.Frame // of the stack made last
}

func newStacker(stacks Stacks, maxStack int) *stacker {
	return &stacker{Stacks: stacks, unwinder: callchain.New(callchain.Host()), maxStack: maxStack}
}

// kernel returns the kernel frames of a sample, leaf first, valid until the
// next call of kernel or user.
func (s *stacker) kernel(sample *perfevent.Sample) []callchain.Frame {
	addrs, _ := callchain.Split(sample.Callchain)
	s.frames = callchain.AppendKernel(s.frames[:0], addrs)
	return s.frames
}

// user returns the user frames of a sample, leaf first, valid until the next
// call of kernel or user, and how the chain ended.
func (s *stacker) user(space *process.Process, sample *perfevent.Sample) ([]callchain.Frame, callchain.End) {
	kernel, user := callchain.Split(sample.Callchain)
	c := &s.capture
	c.Chain, c.Stack, c.MaxStack = user, sample.Stack, s.maxStack-len(kernel)
	c.Regs = callchain.Regs{}
	if sample.Regs.ABI == abi64 {
		// Without pc and sp the registers stay unknown, and the chain is Lost.
		_ = c.Regs.Load(callchain.Host(), sample.Regs.Mask, sample.Regs.Values)
	}
	var end callchain.End
	switch {
	case s.Unwind == FP || sample.Regs.ABI != abi64:
		s.frames, end = s.unwinder.FromCallchain(s.frames[:0], space, c)
	case s.Unwind == DWARF:
		s.frames, end = s.unwinder.Unwind(s.frames[:0], space, c)
	default:
		s.frames, end = s.unwinder.Auto(s.frames[:0], space, c)
	}
	return s.frames, end
}
