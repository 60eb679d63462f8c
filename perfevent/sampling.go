package perfevent

import (
	"fmt"
	"math/bits"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// CallchainMode says which parts of a callchain the kernel walks by frame
// pointer at each sample. The zero value asks for no callchain.
type CallchainMode struct {
	Kernel, User bool
}

// Sampling is one event of a session and what each of its samples carries.
// Every sample has its IP, PID, TID, CPU and time; the rest is asked for here,
// and costs ring space and time in the sampled program.
type Sampling struct {
	Event Event

	// Exactly one of the two is set. Period is the number of events from one
	// sample to the next (1: every event is a sample). Frequency is in
	// samples per second and CPU; the kernel refuses more than the sysctl
	// kernel.perf_event_max_sample_rate.
	Period, Frequency uint64

	ExcludeUser   bool // nothing that happens in user mode
	ExcludeKernel bool // nothing that happens in the kernel; needed by users without privileges
	ExcludeIdle   bool // nothing while the CPU's idle task runs
	ExcludeGuest  bool // nothing that a virtual machine on this host does, as perf leaves it out

	Callchain CallchainMode
	// MaxStack is the greatest number of frames in a callchain; 0 means the
	// sysctl kernel.perf_event_max_stack, which is also the limit.
	MaxStack uint16

	// UserRegs is the set of user registers to copy: bit n stands for
	// register number n of the kernel's asm/perf_regs.h; 0 copies none.
	UserRegs uint64
	// IntrRegs is the set of registers to copy as they are where the event
	// happens, in user mode or in the kernel; the numbers are those of UserRegs.
	IntrRegs uint64
	// UserStack is the number of bytes to copy from the user stack pointer
	// up: a multiple of 8, at most MaxUserStack; 0 copies none.
	UserStack uint32

	// Unweighted says of a tracepoint with a Period of 1 that each hit counts as one, which
	// is so of all but sched_stat_runtime and its like. The samples leave out their period.
	Unweighted bool

	Addr   bool // the address the event is about, such as a page fault's
	Raw    bool // a tracepoint's fields, as its tracefs format file describes them
	Cgroup bool // the id of the cgroup (v2) that was running; needs Linux 5.7

	// Filter is a condition on a tracepoint's fields that the kernel checks
	// before it makes a sample (Documentation/trace/events.rst, section
	// "Event filtering"); "" lets all through. A Uprobe has no fields to ask, but COMM and CPU.
	Filter string
	// CountRest counts the hits that Filter keeps out: Account.Rest. A hit costs as much
	// again, where it is kept out.
	CountRest bool

	// SystemWide samples the whole system, whatever the target is: what the target
	// began and others end. It needs the privileges of System.
	SystemWide bool

	// ByCPU samples each CPU, and keeps the samples of the target's processes and of the
	// children that they have from now on, where the target is processes, the caller has
	// the privileges of System, and the samples of others on all CPUs would take less than
	// 256 MiB a second. Else the events are inherited, and each child begins
	// a new period: one that runs for less than a period has no sample. Session.Inherits
	// says which it is. It is for samplings by time or by a Period above 1.
	ByCPU bool

	// Soon wakes the reader at each sample, for Reader.Unordered, in place of a ring that
	// is a quarter full: see Options.NoBuffering for what that costs.
	Soon bool
	// SoonEvery has a Soon sampling wake the reader at each so many samples of a ring; 0 is
	// each. See Session.WakeEvery.
	SoonEvery uint32

	// UserProbe says that the event is a probe of user code, whose instruction the kernel
	// carries out or steps over once it has made the sample. Package near must know.
	UserProbe bool

	// PreciseIP is how close to the event the IP must be, 0 (any distance) to
	// 3 (exactly there), for hardware that can.
	PreciseIP uint8
}

// MaxUserStack is the greatest Sampling.UserStack. A record's size is a 16 bit
// field that all of a sample must fit in; the kernel cuts the copy of the stack
// so that the rest always does.
const MaxUserStack = 65528

// validate rejects what the kernel would answer with a bare EINVAL.
func (s *Sampling) validate() error {
	switch {
	case (s.Period == 0) == (s.Frequency == 0):
		return fmt.Errorf("sample %s: exactly one of Period and Frequency must be set", s.Event)
	case s.UserStack%8 != 0 || s.UserStack > MaxUserStack:
		return fmt.Errorf("sample %s: a stack copy of %d bytes: must be a multiple of 8 up to %d", s.Event, s.UserStack, MaxUserStack)
	case s.PreciseIP > 3:
		return fmt.Errorf("sample %s: precise_ip %d: must be 0 to 3", s.Event, s.PreciseIP)
	case s.Event.kind == functionEvent:
		return s.validateFunction()
	}
	return nil
}

// carriesPeriod reports whether samples carry their own period. A software
// event or tracepoint with a period above 1 must not ask for it: the kernel
// would then make every single event a sample (perf_swevent_event in
// kernel/events/core.c). With a period of 1 that same rule is wanted: it makes
// a tracepoint with a weight, such as sched_stat_runtime, one sample of that
// weight and not one sample per nanosecond.
func (s *Sampling) carriesPeriod() bool {
	return s.Frequency > 0 || s.Period == 1 && !s.Unweighted
}

// exact reports whether every single event is a sample, so that the numbers
// must add up. Clocks count nanoseconds; context-switches also counts switches
// of the idle task, which it never samples.
func (s *Sampling) exact() bool {
	if s.Period != 1 {
		return false
	}
	switch s.Event.attr.Type {
	case perf.HardwareEvent, perf.HardwareCacheEvent, perf.RawEvent:
		return false
	case perf.SoftwareEvent:
		switch s.Event.attr.Config {
		case unix.PERF_COUNT_SW_CPU_CLOCK, unix.PERF_COUNT_SW_TASK_CLOCK, unix.PERF_COUNT_SW_CONTEXT_SWITCHES:
			return false
		}
	}
	return true
}

// isShared reports whether the event is one of those whose samples may carry
// the id of another event. The kernel prepares one set of data for all events
// on a CPU that a page fault, context switch or the like hits, whosever they
// are. Newer kernels (seen on 6.18) fill in each field once only, since
// perf_prepare_sample skips what data.sample_flags has, and the id is among
// them: every event's sample then carries the id, the time and the callchain of
// the first. Clocks and tracepoints start afresh for each event.
func (s *Sampling) isShared() bool {
	return isShared(uint32(s.Event.attr.Type), s.Event.attr.Config)
}

// isShared is Sampling.isShared of an event's type and config.
func isShared(kind uint32, config uint64) bool {
	return kind == unix.PERF_TYPE_SOFTWARE && config != unix.PERF_COUNT_SW_CPU_CLOCK && config != unix.PERF_COUNT_SW_TASK_CLOCK
}

// recordBytes estimates the size of one sample, for the size of the rings.
func (s *Sampling) recordBytes() int {
	const head, chain = 64, 40 * 8
	n := head
	if s.Callchain.Kernel || s.Callchain.User {
		n += chain
	}
	n += 8 * (bits.OnesCount64(s.UserRegs) + bits.OnesCount64(s.IntrRegs))
	if s.Raw {
		n += 64
	}
	return n + int(s.UserStack)
}
