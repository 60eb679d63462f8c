package stack

import (
	"strconv"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// The register ABI of a sample (enum perf_sample_regs_abi).
const (
	ABI32 = 1 // a 32-bit program's
	ABI64 = 2 // a 64-bit program's
)

// Stacker unwinds the samples of samplings that Stacks.Prepare has prepared. Only one goroutine may
// use it.
type Stacker struct {
	Stacks
	unwinder *callchain.Unwinder // for the latest sample: native or compat
	native   *callchain.Unwinder
	compat   *callchain.Unwinder // for 32-bit programs; nil until there is one
	arch     callchain.Arch
	maxStack int // length at which the kernel stops a callchain
	capture  callchain.Capture
	returns  returns
	runtimes *Runtimes // nil: runtimes are not looked for
	host     process.Host
	frames   []callchain.Frame // of the latest stack
	unmapped bool              // the latest sample has no frames, because its address is in no known mapping
}

// NewStacker returns a Stacker for samples of a machine.
func NewStacker(host process.Host, stacks Stacks) *Stacker {
	arch := host.Arch()
	native := callchain.New(arch)
	return &Stacker{Stacks: stacks, unwinder: native, native: native, arch: arch, maxStack: maxStack(host), returns: make(returns), host: host}
}

// maxStack returns the length at which the kernel stops a callchain (kernel.perf_event_max_stack,
// since Linux 4.8).
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

// Know makes s name the functions of runtimes.
func (s *Stacker) Know(runtimes *Runtimes) { s.runtimes = runtimes }

// Kernel returns the kernel frames of a sample, leaf first. They are valid until the next call of
// Kernel or User.
func (s *Stacker) Kernel(sample *perfevent.Sample) []callchain.Frame {
	addrs, _ := callchain.Split(sample.Callchain)
	s.frames = callchain.AppendKernel(s.frames[:0], addrs)
	return s.frames
}

// User returns the user frames of a sample, leaf first, and how the chain ended. The frames are
// valid until the next call of Kernel or User.
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

// follow unwinds the sample that load and User have put into s.capture.
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

// pc returns the address where the sample's thread ran, or 0 if the sample does not say.
func (s *Stacker) pc() uint64 {
	if len(s.capture.Chain) > 0 {
		return s.capture.Chain[0]
	}
	return s.capture.Regs.PC()
}

// load puts the stack and registers of a sample into s.capture.
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

// Foreign reports whether a sample is of a 32-bit program whose stacks ringtap does not unwind on
// this machine. Such samples have the callers that the kernel finds by frame pointers.
func Foreign(host callchain.Arch, sample *perfevent.Sample) bool {
	return sample.Regs.ABI == ABI32 && machine(host, ABI32) == 0
}

// HasUser reports whether a sample has what its user stack can be found by: registers or, as in
// most recordings, a callchain without registers. Samples of kernel threads have neither.
func HasUser(sample *perfevent.Sample) bool {
	return sample.Regs.ABI != 0 || walksUser(sample.Callchain)
}

// machine returns the architecture of a sample's program, or 0 if ringtap can't unwind it.
func machine(host callchain.Arch, abi uint64) callchain.Arch {
	switch abi {
	case ABI64:
		return host
	case ABI32:
		return host.Compat()
	}
	return 0
}

// note stores the return address of the function that the sample is at the entry of. User calls it;
// for samples whose stack is known without User, call it directly. It stores nothing if the return
// address is the return probe's trampoline: another function with a return probe has jumped here,
// and its call is already stored.
func (s *Stacker) note(space *process.Process, sample *perfevent.Sample) {
	if !s.Entry {
		return
	}
	s.load(sample)
	if cfa, address, ok := s.capture.Caller(); ok && address != space.Trampoline() {
		s.returns.note(sample.TID, cfa, address)
	}
}

// repeatable reports whether the last result of User depends only on pc, stack pointer, frame
// pointer and the words at reads: see callchain.Unwinder.
func (s *Stacker) repeatable() bool {
	return s.Unwind != FP && len(s.capture.Chain) == 0 && s.unwinder.Repeatable()
}

// reads returns the offsets of the words of the copied stack that User has read.
func (s *Stacker) reads() []uint32 { return s.unwinder.Reads() }
