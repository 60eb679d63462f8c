package perfevent

import (
	"fmt"
	"slices"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// Event names what is counted or sampled. It is a plain value: copying it is
// cheap, and two events made from the same arguments compare equal. The zero
// Event is the hardware event "cycles" without a name; use the constructors.
type Event struct {
	attr perf.Attr
	kind eventKind
	text string // the string that config1 points to: a Uprobe's file, a Kprobe's function
}

// eventKind marks the events that need special care.
type eventKind uint8

const (
	ordinaryEvent eventKind = iota
	uprobeEvent             // of the uprobe PMU
	kprobeEvent             // of the kprobe PMU
	functionEvent           // ftrace:function
)

// String returns perf(1)'s own name of the event, as perf list prints it:
// "cpu-clock", "LLC-load-misses", "sched:sched_switch", "mem:0x401000:x".
func (e Event) String() string {
	if e.attr.Label == "" {
		return fmt.Sprintf("type %d config %#x", uint32(e.attr.Type), e.attr.Config)
	}
	return e.attr.Label
}

// IsTracepoint reports whether the event is a tracepoint or a probe of tracefs. Several
// events on one cost little more than one.
func (e Event) IsTracepoint() bool {
	return e.attr.Type == perf.TracepointEvent && e.kind == ordinaryEvent
}

// event returns the event of one of go-perf's configurators. label, if not "", is its name. The
// configurators used here fill in constants and cannot fail.
func event(c perf.Configurator, label string) Event {
	var attr perf.Attr
	if err := c.Configure(&attr); err != nil {
		return Event{}
	}
	if label != "" {
		attr.Label = label
	}
	return Event{attr: attr}
}

// CPUClock is the software event "cpu-clock": a high resolution timer on each
// CPU. It exists on every kernel and is what CPU profiles fall back to. Its
// unit is nanoseconds.
func CPUClock() Event { return Software(SoftwareCPUClock) }

// CPUCycles is the hardware event "cycles". Opening it on a machine that shows
// no hardware counters gives an error that is ErrNoEvent.
func CPUCycles() Event { return event(perf.CPUCycles, "cycles") }

// SoftwareCounter is one of the kernel's own counters (enum perf_sw_ids in
// include/uapi/linux/perf_event.h).
type SoftwareCounter uint64

// The software counters.
const (
	SoftwareCPUClock        = SoftwareCounter(perf.CPUClock)        // nanoseconds on a CPU
	SoftwareTaskClock       = SoftwareCounter(perf.TaskClock)       // nanoseconds of a task on a CPU
	SoftwarePageFaults      = SoftwareCounter(perf.PageFaults)      // all page faults
	SoftwareContextSwitches = SoftwareCounter(perf.ContextSwitches) // switches away from a task
	SoftwareCPUMigrations   = SoftwareCounter(perf.CPUMigrations)   // moves of a task to another CPU
	SoftwareMinorFaults     = SoftwareCounter(perf.MinorPageFaults) // page faults without I/O
	SoftwareMajorFaults     = SoftwareCounter(perf.MajorPageFaults) // page faults that waited for I/O
	SoftwareAlignmentFaults = SoftwareCounter(perf.AlignmentFaults) // unaligned accesses the kernel repaired
	SoftwareEmulationFaults = SoftwareCounter(perf.EmulationFaults) // instructions the kernel emulated
)

// Software returns the event of one of the kernel's own counters.
func Software(c SoftwareCounter) Event { return event(perf.SoftwareCounter(c), "") }

// HardwareCounter is one of the generalized counters of the CPU (enum
// perf_hw_id in include/uapi/linux/perf_event.h).
type HardwareCounter uint64

// The generalized hardware counters.
const (
	HardwareCPUCycles             = HardwareCounter(perf.CPUCycles)
	HardwareInstructions          = HardwareCounter(perf.Instructions)
	HardwareCacheReferences       = HardwareCounter(perf.CacheReferences)
	HardwareCacheMisses           = HardwareCounter(perf.CacheMisses)
	HardwareBranchInstructions    = HardwareCounter(perf.BranchInstructions)
	HardwareBranchMisses          = HardwareCounter(perf.BranchMisses)
	HardwareBusCycles             = HardwareCounter(perf.BusCycles)
	HardwareStalledCyclesFrontend = HardwareCounter(perf.StalledCyclesFrontend)
	HardwareStalledCyclesBackend  = HardwareCounter(perf.StalledCyclesBackend)
	HardwareRefCycles             = HardwareCounter(perf.RefCPUCycles)
)

// Hardware returns the event of a generalized hardware counter.
func Hardware(c HardwareCounter) Event {
	if c == HardwareCPUCycles {
		return CPUCycles()
	}
	return event(perf.HardwareCounter(c), "")
}

// Raw returns a CPU's own event by the number that its manual gives. On x86 the number is the unit mask
// and then the event's code: 0x1a8.
func Raw(config uint64) Event {
	return event(&perf.Attr{Type: perf.RawEvent, Config: config}, fmt.Sprintf("r%x", config))
}

// Tracepoint returns the event of a tracepoint. The id is the number in the
// event's tracefs directory (file "id"), the name is "system:event". Dynamic
// events of tracefs (kprobe_events, uprobe_events) are tracepoints too.
//
// go-perf's own lookup only knows debugfs, which need not be mounted since Linux 4.1. Package
// ftrace finds tracefs.
func Tracepoint(id uint64, name string) Event {
	return event(&perf.Attr{Type: perf.TracepointEvent, Config: id}, name)
}

// BreakpointKind says which accesses trigger a breakpoint; read and write may
// be combined with |.
type BreakpointKind uint32

// The kinds of breakpoints (HW_BREAKPOINT_* in
// include/uapi/linux/hw_breakpoint.h).
const (
	BreakpointRead    = BreakpointKind(perf.BreakpointTypeR)
	BreakpointWrite   = BreakpointKind(perf.BreakpointTypeW)
	BreakpointExecute = BreakpointKind(perf.BreakpointTypeX)
)

// Breakpoint returns the event of a hardware breakpoint at the virtual address
// addr, watching length bytes (1, 2, 4 or 8; an execution breakpoint takes the
// machine's word and ignores length).
func Breakpoint(kind BreakpointKind, addr uint64, length int) Event {
	access := ""
	if kind&BreakpointRead != 0 {
		access += "r"
	}
	if kind&BreakpointWrite != 0 {
		access += "w"
	}
	if kind == BreakpointExecute {
		return event(perf.ExecutionBreakpoint(addr), fmt.Sprintf("mem:%#x:x", addr))
	}
	return event(perf.Breakpoint(perf.BreakpointType(kind), addr, perf.BreakpointLength(length)),
		fmt.Sprintf("mem:%#x/%d:%s", addr, length, access))
}

// Cache is one of the CPU's caches (enum perf_hw_cache_id).
type Cache uint64

// The caches.
const (
	CacheL1D    = Cache(perf.L1D)
	CacheL1I    = Cache(perf.L1I)
	CacheLL     = Cache(perf.LL) // the last level
	CacheDTLB   = Cache(perf.DTLB)
	CacheITLB   = Cache(perf.ITLB)
	CacheBranch = Cache(perf.BPU)
	CacheNode   = Cache(perf.NODE) // memory of another NUMA node
)

// CacheOp is an operation on a cache (enum perf_hw_cache_op_id).
type CacheOp uint64

// The operations on a cache.
const (
	CacheLoad     = CacheOp(perf.Read)
	CacheStore    = CacheOp(perf.Write)
	CachePrefetch = CacheOp(perf.Prefetch)
)

// HardwareCache returns the event that counts one operation on one cache: every access, or
// only the misses if misses is true.
func HardwareCache(c Cache, op CacheOp, misses bool) Event {
	result := perf.Access
	if misses {
		result = perf.Miss
	}
	counter := perf.HardwareCacheCounter{Cache: perf.Cache(c), Op: perf.CacheOp(op), Result: result}
	return event(counter, c.name()+"-"+op.name(misses))
}

func (c Cache) name() string {
	names := [...]string{"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"}
	if c < Cache(len(names)) {
		return names[c]
	}
	return "cache"
}

func (op CacheOp) name(misses bool) string {
	names := [...]string{"load", "store", "prefetch"}
	singular := "access"
	if op < CacheOp(len(names)) {
		singular = names[op]
	}
	if misses {
		return singular + "-misses"
	}
	return singular + "s"
}

// SoftwareEvents returns the events of the kernel's own counters.
func SoftwareEvents() []Event {
	var events []Event
	for c := SoftwareCPUClock; c <= SoftwareEmulationFaults; c++ {
		events = append(events, Software(c))
	}
	return events
}

// HardwareEvents returns the generalized events of CPUs, counters and caches. Available
// reports whether this CPU has one.
func HardwareEvents() []Event {
	var events []Event
	for c := HardwareCPUCycles; c <= HardwareRefCycles; c++ {
		events = append(events, Hardware(c))
	}
	for c := CacheL1D; c <= CacheNode; c++ {
		for op := CacheLoad; op <= CachePrefetch; op++ {
			events = append(events, HardwareCache(c, op, false), HardwareCache(c, op, true))
		}
	}
	return events
}

// EventOf returns the event that an attribute describes. It has perf's name if it is one of
// SoftwareEvents or HardwareEvents, or the dummy event that carries the side-band.
func EventOf(attr *unix.PerfEventAttr) Event {
	for _, e := range slices.Concat(SoftwareEvents(), HardwareEvents(), []Event{event(perf.Dummy, "dummy")}) {
		if uint32(e.attr.Type) == attr.Type && e.attr.Config == attr.Config {
			return e
		}
	}
	return Event{attr: perf.Attr{Type: perf.EventType(attr.Type), Config: attr.Config}}
}

// Available reports whether the event can be counted here. It opens the event on the caller's
// thread, for user mode only, and closes it.
func Available(e Event) bool {
	s := Sampling{Event: e, ExcludeKernel: true}
	attr := sampleAttr(&s, false, 0, 0)
	fd, err := perfEventOpen(&attr, e.text, subject{}, -1, noGroup)
	if err != nil {
		return false
	}
	_ = unix.Close(fd) // nothing was counted that closing could lose
	return true
}
