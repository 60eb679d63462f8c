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

// Sampling is one event of a session, and the fields that each of its samples carries. Every
// sample has its IP, PID, TID, CPU and time. Other fields must be requested here, and cost ring
// space and time in the sampled program.
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
	ExcludeGuest  bool // nothing that a virtual machine on this host does; perf excludes it too

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

	// UnitWeight says that each hit of a tracepoint with a Period of 1 counts as one. That is
	// true of all tracepoints but a few, such as sched_stat_runtime, whose hits have a weight in
	// nanoseconds. The samples then do not carry their period.
	UnitWeight bool

	Addr   bool // the address the event is about, such as a page fault's
	Raw    bool // a tracepoint's fields, as its tracefs format file describes them
	Cgroup bool // the id of the cgroup (v2) that was running; needs Linux 5.7

	// Filter is a condition on a tracepoint's fields that the kernel checks
	// before it makes a sample (Documentation/trace/events.rst, section
	// "Event filtering"); "" lets all through. A Uprobe has only the fields COMM and CPU.
	Filter string
	// CountRejected counts the hits that Filter rejects: see Account.Rejected. It doubles what
	// a rejected hit costs.
	CountRejected bool

	// SystemWide samples the whole system, whatever the target is. It is for work that the
	// target starts and another process ends. It needs the privileges of System.
	SystemWide bool

	// ByCPU prefers events on CPUs to events on the target's threads. An inherited event
	// starts a new period in each child, so a child that runs for less than a period gets no
	// sample. Events on CPUs also sample other processes, whose samples are dropped. They
	// need the privileges of System and a target of processes. They are not used if samples
	// of other processes could exceed 256 MiB a second. Session.Inherits says which it is.
	// ByCPU is for time-based samplings, or for a Period above 1.
	ByCPU bool

	// WakeupEvents is perf_event_attr's wakeup_events: 1 wakes the reader at every sample,
	// n at every n-th sample of a ring. 0 wakes it when the ring holds
	// Options.WakeupWatermark bytes. Options.NoBuffering says what a wakeup costs.
	WakeupEvents uint32

	// UserProbe says that the event is a probe of user code: the kernel emulates or
	// single-steps the probed instruction after it takes the sample. Package helper uses it.
	UserProbe bool

	// PreciseIP is how close to the event the IP must be, 0 (any distance) to
	// 3 (exactly there), for hardware that can.
	PreciseIP uint8
}

// MaxUserStack is the greatest Sampling.UserStack. A record's size is a 16-bit field. The
// kernel cuts the copy of the stack if the sample would be larger.
const MaxUserStack = 65528

// validate rejects settings that the kernel would refuse with a bare EINVAL.
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

// carriesPeriod reports whether samples carry their own period. A software event or tracepoint
// with a period above 1 must not request it: the kernel would then make every hit a sample
// (perf_swevent_event in kernel/events/core.c). With a period of 1, that rule helps: a hit of
// weight n, such as sched_stat_runtime's n nanoseconds, makes one sample instead of n.
func (s *Sampling) carriesPeriod() bool {
	return s.Frequency > 0 || s.Period == 1 && !s.UnitWeight
}

// exact reports whether every hit makes a sample, so that the numbers of the Account must add
// up. Clocks count nanoseconds instead, and context-switches also counts switches of the idle
// task, which it never samples.
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

// isShared reports whether the event's samples may carry the id of another event. When a page
// fault, context switch or the like hits several events on a CPU, the kernel prepares one set
// of data for all of them, even if they belong to different programs. Newer kernels (seen on
// 6.18) fill in each field only once, because perf_prepare_sample skips the fields in
// data.sample_flags. So each event's sample carries the id, the time and the callchain of the
// first event. For clocks and tracepoints, the kernel prepares new data for each event.
func (s *Sampling) isShared() bool {
	return isShared(uint32(s.Event.attr.Type), s.Event.attr.Config)
}

// isShared is Sampling.isShared, given an event's type and config.
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
