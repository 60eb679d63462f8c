package perfevent

import (
	"slices"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// Bits of perf_event_attr that neither go-perf nor x/sys name
// (include/uapi/linux/perf_event.h, in order of their arrival).
const (
	bitNamespaces = 1 << 28 // Linux 4.12
	bitCgroup     = 1 << 32 // 5.7
	bitPreciseIP  = 15      // the position of a two-bit number
)

// fixedSample is the set of fields that every sample carries, so that its id and time are at
// fixed places. With sample_id_all, all other records carry the same fields at their end.
const fixedSample = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID |
	unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU

// sysAttr translates an event's configuration to the system call's form and adds the settings
// that all events of a session share. It replaces go-perf's own translation, which is not
// exported, does not know the newer bits and gets precise_ip wrong.
func sysAttr(a perf.Attr, watermark uint32, format uint64) unix.PerfEventAttr {
	attr := unix.PerfEventAttr{
		Type:        uint32(a.Type),
		Size:        unix.PERF_ATTR_SIZE_VER5,
		Config:      a.Config,
		Sample_type: fixedSample,
		Read_format: format,
		Bits:        unix.PerfBitWatermark | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID,
		Wakeup:      watermark,
		Bp_type:     a.BreakpointType,
		Ext1:        a.Config1,
		Ext2:        a.Config2,
		Clockid:     unix.CLOCK_MONOTONIC,
	}
	return attr
}

// sampleAttr is the attribute of a sampling event; it starts disabled.
func sampleAttr(s *Sampling, inherit bool, watermark uint32, format uint64) unix.PerfEventAttr {
	attr := sysAttr(s.Event.attr, watermark, format)
	attr.Sample = s.Period
	attr.Sample_max_stack = s.MaxStack
	attr.Bits |= unix.PerfBitDisabled | uint64(s.PreciseIP&3)<<bitPreciseIP

	setBit(&attr.Bits, unix.PerfBitInherit, inherit)
	setBit(&attr.Bits, unix.PerfBitExcludeUser, s.ExcludeUser)
	setBit(&attr.Bits, unix.PerfBitExcludeKernel|unix.PerfBitExcludeHv, s.ExcludeKernel)
	setBit(&attr.Bits, unix.PerfBitExcludeIdle, s.ExcludeIdle)
	setBit(&attr.Bits, unix.PerfBitExcludeGuest, s.ExcludeGuest)
	if s.WakeupEvents > 0 {
		attr.Bits &^= unix.PerfBitWatermark
		attr.Wakeup = s.WakeupEvents
	}
	if s.Frequency > 0 {
		attr.Sample = s.Frequency
		attr.Bits |= unix.PerfBitFreq
	}
	if s.Callchain.Kernel || s.Callchain.User {
		attr.Sample_type |= unix.PERF_SAMPLE_CALLCHAIN
		setBit(&attr.Bits, unix.PerfBitExcludeCallchainKernel, !s.Callchain.Kernel)
		setBit(&attr.Bits, unix.PerfBitExcludeCallchainUser, !s.Callchain.User)
	}
	if s.UserRegs != 0 {
		attr.Sample_type |= unix.PERF_SAMPLE_REGS_USER
		attr.Sample_regs_user = s.UserRegs
	}
	if s.UserStack > 0 {
		attr.Sample_type |= unix.PERF_SAMPLE_STACK_USER
		attr.Sample_stack_user = s.UserStack
	}
	if s.IntrRegs != 0 {
		attr.Sample_type |= unix.PERF_SAMPLE_REGS_INTR
		attr.Sample_regs_intr = s.IntrRegs
	}
	// The kernel accepts ftrace:function only if user callchains are excluded, even for an
	// event without callchains.
	setBit(&attr.Bits, unix.PerfBitExcludeCallchainUser, s.Event.kind == functionEvent)
	setBit(&attr.Sample_type, unix.PERF_SAMPLE_ADDR, s.Addr)
	setBit(&attr.Sample_type, unix.PERF_SAMPLE_RAW, s.Raw || s.Event.kind == functionEvent)
	setBit(&attr.Sample_type, unix.PERF_SAMPLE_CGROUP, s.Cgroup)
	setBit(&attr.Sample_type, unix.PERF_SAMPLE_PERIOD, s.carriesPeriod())
	return attr
}

// counterAttr is the attribute of an event that makes no samples; it starts
// disabled, and reading it gives its value and nothing else.
func counterAttr(e Event, inherit bool) unix.PerfEventAttr {
	attr := sysAttr(e.attr, 0, 0)
	attr.Sample_type = 0
	attr.Bits = unix.PerfBitDisabled
	attr.Clockid = 0
	setBit(&attr.Bits, unix.PerfBitInherit, inherit)
	return attr
}

// sideBandAttr is the attribute of the dummy event that carries the records about processes.
// It is enabled from the start. It excludes the kernel so that it needs no privileges; since
// it counts nothing, that loses nothing.
func sideBandAttr(opts *Options, inherit bool, watermark uint32, format uint64) unix.PerfEventAttr {
	attr := sysAttr(event(perf.Dummy, "").attr, watermark, format)
	attr.Bits |= unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	setBit(&attr.Bits, unix.PerfBitMmap|unix.PerfBitMmap2|bitNamespaces|bitCgroup, opts.SideBand != SideBandNames)
	setBit(&attr.Bits, unix.PerfBitMmapData, opts.SideBand == SideBandData)
	setBit(&attr.Bits, unix.PerfBitInherit, inherit)
	setBit(&attr.Bits, unix.PerfBitContextSwitch, opts.Switches != nil && !opts.Switches.Sampled)
	return attr
}

func setBit(word *uint64, bit uint64, on bool) {
	if on {
		*word |= bit
	}
}

// keepsContexts is a bit of sample_type. An inherited event with it prevents the kernel from
// swapping its thread's context of events.
//
// When the kernel switches between two threads with cloned contexts, it may swap the contexts,
// which is cheaper. If the threads are in different processes, the uprobe code then confuses
// their events. When one process ends, the kernel removes the breakpoints from the memory of
// the other one, whose later hits are not even counted. (Linux 6.18: a program with two
// children lost thousands of 120,000 hits in every other run.)
//
// Since Linux 6.12, the kernel does not swap a context with an inherited event that reads
// counts into its samples (perf_event_context_sched_out in kernel/events/core.c). The
// side-band's dummy event has the bit because it makes no samples.
const keepsContexts = unix.PERF_SAMPLE_READ

// needsContexts reports whether any sampling may be a uprobe. Only uprobes need keepsContexts,
// which makes switches slower.
func (s *Session) needsContexts() bool {
	return !s.swapped && slices.ContainsFunc(s.samplings, func(s Sampling) bool {
		return s.Event.attr.Type == perf.TracepointEvent
	})
}

// swapContexts gives up keepsContexts, since this kernel may refuse it.
func (s *Session) swapContexts() {
	if s.needsContexts() {
		s.opts.logger().Info("hits in forked children may be missed by this kernel; the whole system is traced without loss", "fixed", "Linux 6.12")
	}
	s.swapped = true
}
