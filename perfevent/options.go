package perfevent

import (
	"log/slog"
	"time"
)

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
	// least half a second of samples, from 8 MiB to 32 MiB, and at most 256 MiB for
	// all rings. Where every hit is a sample with a copy of the stack it is 32 MiB.
	RingBytes int

	// WakeBytes is how many bytes of records in a ring wake the reader; 0 is a quarter of
	// the ring, which is also the most.
	WakeBytes int

	SideBand SideBand
	// Switches, unless nil, records context switches of the target: *Switch.
	Switches *Switches

	// HandOver is for a session whose rings are read by way of RingFiles, and never by
	// Read. A ring says once only that there are records, and must say it to that reader.
	HandOver bool

	// Shared is for a session whose rings may wake another reader, who follows them by way of
	// RingFiles and CPURing.Follow from LetFollow on. Read looks at them every 20 ms. If a sampling
	// has a Period of 1, Read looks every 2 ms while records fill more than 1/64 of a ring, and until
	// LetFollow the first record wakes it.
	Shared bool

	// Within is how long Read lets records wait in a ring that is not a quarter full; 0 is
	// 200 ms.
	Within time.Duration

	// Without are CPUs on which nothing is opened, such as those of NohzFullCPUs.
	Without []int

	// Recent leaves room for OpenRecent in what an ordinary user may lock.
	Recent bool

	// NoBuffering wakes the reader for every record, in place of a ring that is a quarter
	// full: perf record's --no-buffering. That takes a few microseconds of the program
	// that makes the record. The reader is a real-time thread where it may be one
	// (CAP_SYS_NICE), as long as it has little to do, and takes one of GOMAXPROCS for
	// itself.
	NoBuffering bool

	// Logger gets warnings about what was left out; nil discards them.
	Logger *slog.Logger
}

// Switches says which context switches are recorded, and when.
type Switches struct {
	CPUs []int // the only ones; nil is all
	// Sampled records them by the first sampling, so that they come only while it is
	// enabled, and among its recent samples.
	Sampled bool
}

func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}
