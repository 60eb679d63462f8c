package stack

import (
	"strconv"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// Whose registers a sample has (enum perf_sample_regs_abi).
const (
	ABI32 = 1 // a 32-bit program's
	ABI64 = 2 // a 64-bit program's
)

// Stacker makes frames of the samples of a sampling that Stacks.Prepare has
// prepared. It belongs to one goroutine.
type Stacker struct {
	Stacks
	unwinder *callchain.Unwinder // of the sample that came last
	native   *callchain.Unwinder
	compat   *callchain.Unwinder // of 32-bit programs; nil until there is one
	arch     callchain.Arch
	maxStack int // entries after which the kernel stops a callchain
	capture  callchain.Capture
	returns  returns
	runtimes *Runtimes // nil: none are looked for
	host     process.Host
	frames   []callchain.Frame // of the stack made last
	unmapped bool              // the thread of the last sample ran in no known mapping: it has no frames
}

// NewStacker makes a Stacker of a machine's samples.
func NewStacker(host process.Host, stacks Stacks) *Stacker {
	arch := host.Arch()
	native := callchain.New(arch)
	return &Stacker{Stacks: stacks, unwinder: native, native: native, arch: arch, maxStack: maxStack(host), returns: make(returns), host: host}
}

// maxStack is the number of entries after which the kernel ends a callchain
// (kernel.perf_event_max_stack, since Linux 4.8).
func maxStack(host process.Host) int {
	const byDefault = 127 // PERF_MAX_STACK_DEPTH
	text, err := host.Sysctl("kernel/perf_event_max_stack")
	if err != nil {
		return byDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return byDefault
	}
	return n
}

// Know has the frames of runtimes' functions named.
func (s *Stacker) Know(runtimes *Runtimes) { s.runtimes = runtimes }

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
	s.note(space, sample)
	kernel, user := callchain.Split(sample.Callchain)
	c := &s.capture
	c.Chain, c.MaxStack, c.Returns = user, s.maxStack-len(kernel), s.returns[sample.TID]
	if c.Runtime = nil; s.runtimes != nil {
		c.Runtime = s.runtimes.Of(s.host, space)
	}
	s.load(sample)
	end := s.follow(space, sample.Regs.ABI)
	s.unmapped = false
	if pc := s.pc(); len(s.frames) == 0 && pc != 0 {
		if s.unmapped = !space.Ran(pc); !s.unmapped {
			end = s.follow(space, sample.Regs.ABI)
		}
	}
	return s.frames, end
}

// follow makes the frames of what load and User have taken over from a sample.
func (s *Stacker) follow(space *process.Process, abi uint64) (end callchain.End) {
	c := &s.capture
	switch {
	case s.Unwind == FP || machine(s.arch, abi) == 0:
		s.frames, end = s.unwinder.FromCallchain(s.frames[:0], space, c)
	case s.Unwind == DWARF:
		s.frames, end = s.unwinder.Unwind(s.frames[:0], space, c)
	default:
		s.frames, end = s.unwinder.Auto(s.frames[:0], space, c)
	}
	return end
}

// pc returns the address where the sample's thread ran; 0 if the sample does not say.
func (s *Stacker) pc() uint64 {
	if len(s.capture.Chain) > 0 {
		return s.capture.Chain[0]
	}
	return s.capture.Regs.PC()
}

// load takes over what the sample says of the thread.
func (s *Stacker) load(sample *perfevent.Sample) {
	c := &s.capture
	c.Stack, c.Entry, c.Regs = sample.Stack, s.Entry, callchain.Regs{}
	s.unwinder = s.native
	arch := machine(s.arch, sample.Regs.ABI)
	if arch == 0 {
		return
	}
	// Without pc and sp the registers stay unknown, and the chain is Lost.
	_ = c.Regs.Load(arch, sample.Regs.Mask, sample.Regs.Values)
	if arch != s.arch {
		if s.compat == nil {
			s.compat = callchain.New(arch)
		}
		s.unwinder = s.compat
	}
}

// Foreign says that a sample is of a 32-bit program, whose stacks are not unwound on that
// machine: they have the callers that the kernel finds by frame pointers.
func Foreign(host callchain.Arch, sample *perfevent.Sample) bool {
	return sample.Regs.ABI == ABI32 && machine(host, ABI32) == 0
}

// machine is the one that a sample's program is for; zero where ringtap can't unwind it.
func machine(host callchain.Arch, abi uint64) callchain.Arch {
	switch abi {
	case ABI64:
		return host
	case ABI32:
		return host.Compat()
	}
	return 0
}

// note remembers where the function returns to that a sample is at the entry of. Of a
// sample whose user stack is known, and not asked for again, it is to be told too. Where
// a function has jumped to it whose return is probed, that one's call is its own.
func (s *Stacker) note(space *process.Process, sample *perfevent.Sample) {
	if !s.Entry {
		return
	}
	s.load(sample)
	if cfa, address, ok := s.capture.Caller(); ok && address != space.Trampoline() {
		s.returns.note(sample.TID, cfa, address)
	}
}

// Repeatable says that the chain which User returned last follows from pc, stack
// pointer, frame pointer and the words of the copied stack that Reads tells: see
// callchain.Unwinder.
func (s *Stacker) Repeatable() bool {
	return s.Unwind != FP && len(s.capture.Chain) == 0 && s.unwinder.Repeatable()
}

// Reads is where in the copied stack those words are.
func (s *Stacker) Reads() []uint32 { return s.unwinder.Reads() }
