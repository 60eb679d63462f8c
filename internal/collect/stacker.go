package collect

import (
	"fmt"
	"os"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// abi64 is PERF_SAMPLE_REGS_ABI_64: registers of a 64-bit program.
const abi64 = 2

// Stacker makes frames of the samples of a sampling that Stacks.Ask has
// prepared. It belongs to one goroutine.
type Stacker struct {
	Stacks
	unwinder *callchain.Unwinder
	maxStack int // entries after which the kernel stops a callchain
	capture  callchain.Capture
	frames   []callchain.Frame // of the stack made last
}

// NewStacker makes a Stacker.
func NewStacker(stacks Stacks) *Stacker {
	return &Stacker{Stacks: stacks, unwinder: callchain.New(callchain.Host()), maxStack: maxStack()}
}

// maxStack is the number of entries after which the kernel ends a callchain
// (kernel.perf_event_max_stack, since Linux 4.8).
func maxStack() int {
	const byDefault = 127 // PERF_MAX_STACK_DEPTH
	var n int
	text, err := os.ReadFile("/proc/sys/kernel/perf_event_max_stack")
	if err != nil {
		return byDefault
	}
	if _, err := fmt.Sscan(string(text), &n); err != nil {
		return byDefault
	}
	return n
}

// Kernel returns the kernel frames of a sample, leaf first, valid until the
// next call.
func (s *Stacker) Kernel(sample *perfevent.Sample) []callchain.Frame {
	addrs, _ := callchain.Split(sample.Callchain)
	s.frames = callchain.AppendKernel(s.frames[:0], addrs)
	return s.frames
}

// User returns the user frames of a sample, leaf first, valid until the next
// call, and how the chain ended.
func (s *Stacker) User(space *process.Process, sample *perfevent.Sample) ([]callchain.Frame, callchain.End) {
	kernel, user := callchain.Split(sample.Callchain)
	c := &s.capture
	c.Chain, c.Stack, c.MaxStack = user, sample.Stack, s.maxStack-len(kernel)
	c.Entry = s.Entry
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

// Repeatable says that the chain which User returned last follows from pc, stack
// pointer, frame pointer and copied stack alone: see callchain.Unwinder.
func (s *Stacker) Repeatable() bool {
	return s.Unwind != FP && len(s.capture.Chain) == 0 && s.unwinder.Repeatable()
}
