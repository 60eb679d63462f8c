package perfevent

import "log/slog"

// SideBand says which records about processes a session carries beside its
// samples.
type SideBand uint8

// The choices of records about processes.
const (
	// SideBandAll is names, births, ends, mappings, namespaces and control
	// groups: what a stack needs to be named.
	SideBandAll SideBand = iota
	// SideBandNames is names, births and ends of threads only. It spares a
	// tracer that shows no stacks the records of every library that any
	// program maps.
	SideBandNames
)

// Options are the choices of a session that are not per event. The zero value
// is right for most.
type Options struct {
	// RingBytes is the size of each CPU's ring; it is rounded down to a power
	// of two of pages. 0 chooses: what an ordinary user may lock
	// (kernel.perf_event_mlock_kb), or with the privilege to lock more at
	// least half a second of samples, from 8 MiB to 32 MiB. Where every hit is a
	// sample with a copy of the stack it is the latter.
	RingBytes int
	// MaxRingBytes bounds the chosen size of all rings together; 0 means
	// 256 MiB.
	MaxRingBytes int

	SideBand      SideBand
	ContextSwitch bool // record every context switch of the target: *Switch
	// SwitchCPUs are the only CPUs whose context switches are recorded; nil is all.
	SwitchCPUs []int
	// SwitchesSampled records them by the first sampling instead, so that they
	// come only while it is enabled, and among its recent samples.
	SwitchesSampled bool
	Ksymbol         bool // record kernel code that comes and goes: *Ksymbol; whole system only
	TextPoke        bool // record changes of kernel code: *TextPoke; whole system only

	// Recent leaves room for OpenRecent in what an ordinary user may lock.
	Recent bool

	// Round, unless nil, is called by Read about every fifth of a second,
	// between records: all records of times before the one given
	// (CLOCK_MONOTONIC, nanoseconds) have been handed on. So a caller can
	// close an interval of time in which nothing happened.
	Round func(before uint64)

	// Spool bounds the bytes of records that wait in memory while handle is
	// held up; Read then reads the rings on a goroutine of its own and copies
	// the records. 0 hands them on in place: a handler that takes longer than
	// the rings last loses records.
	Spool int
	// Early, unless nil, is offered records where they lie in the ring, before they
	// are copied to the spool; true says that the record is done with. With next all
	// records before it have been handled; else it is a sample, and nothing but
	// samples waits in the spool. It is called on the goroutine that reads the rings,
	// at times while handle runs, and must not block. It is for what the caller has
	// seen the like of: copies are most of what a storm of samples costs its reader.
	Early func(record Record, next bool) bool

	// Seen, unless nil, is offered every record as soon as it can be, each CPU's
	// in their order, before Early and long before it is handed on in the order
	// of time. Every record then wakes the reader, which takes a few
	// microseconds of the program that makes it, and the reader is a real-time
	// thread where it may be one (CAP_SYS_NICE), as long as it has little to do.
	// It takes one of GOMAXPROCS for itself. Seen is called on the goroutine
	// that reads the rings and must not block. Records that turn out not to be
	// the target's are seen too.
	Seen func(Record)

	// Logger gets warnings about what was left out; nil discards them.
	Logger *slog.Logger
}

func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}
