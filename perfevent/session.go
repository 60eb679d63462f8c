package perfevent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// SideBand says which records about processes a session has in addition to its samples.
type SideBand uint8

// The choices of records about processes.
const (
	// SideBandAll is names, births, ends, mappings, namespaces and control groups:
	// everything that naming the frames of a stack needs.
	SideBandAll SideBand = iota
	// SideBandNames is names, births and ends of threads only. It is for tracers that show
	// no stacks: they get no record for every library that a program maps.
	SideBandNames
	// SideBandData is SideBandAll, and the mappings that cannot be executed. Other tools than
	// ringtap need them to find a program's unwind tables.
	SideBandData
)

// Options configure a session as a whole. The zero value is right for most callers.
type Options struct {
	// RingBytes is the size of each CPU's ring. It is rounded down to a power of two of
	// pages. 0 chooses a size:
	//
	//   - for an ordinary user, what he may lock (kernel.perf_event_mlock_kb)
	//   - with the privilege to lock more, room for half a second of samples, from 8 MiB to
	//     32 MiB, and at most 256 MiB for all rings. If every hit is a sample with a copy of
	//     the stack, a ring has 32 MiB.
	RingBytes int

	// WakeupWatermark is perf_event_attr's wakeup_watermark: how many bytes of records in a
	// ring wake the reader. 0 means a quarter of the ring, which is also the maximum.
	WakeupWatermark int

	SideBand SideBand
	// Switches, if not nil, requests records of the target's context switches: *Switch.
	Switches *Switches

	// ExternalReader says that another process reads the rings (see RingFiles) and Read is
	// never called. A ring reports new records only once, so nothing here may wait for it.
	ExternalReader bool

	// SharedRings says that a second reader may follow the rings (RingFiles, CPURing.Follow).
	// Read looks at the rings every 20 ms. If a sampling has a Period of 1, Read looks every 2 ms
	// while records fill more than 1/64 of a ring, and a first record wakes it. LetFollow ends
	// that: from then on the rings wake the second reader.
	SharedRings bool

	// MaxDelay is how long Read leaves records in a ring that has not reached WakeupWatermark.
	// 0 means 200 ms.
	MaxDelay time.Duration

	// ExcludeCPUs are CPUs on which no events are opened, for example NohzFullCPUs.
	ExcludeCPUs []int

	// Recent leaves room for OpenRecent in the memory that an ordinary user may lock.
	Recent bool

	// NoBuffering wakes the reader for every record instead of when a ring is a quarter full,
	// as perf record --no-buffering does. A wakeup takes a few microseconds of the program
	// that makes the record. With CAP_SYS_NICE, the reader is a real-time thread while it
	// has little to do. It occupies one of GOMAXPROCS.
	NoBuffering bool

	// Logger gets warnings about what was left out; nil discards them.
	Logger *slog.Logger
}

// Switches says which context switches are recorded, and when.
type Switches struct {
	CPUs []int // record only switches on these; nil means all
	// Sampled makes the first sampling's event record the switches. They then come only
	// while it is enabled, and a Recent has them too.
	Sampled bool
}

func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// Session is a set of samplings on one target: the open events, one ring for
// each CPU, and the way from the rings to the caller. Close frees it.
//
// Enable, Disable and Close may be called from any goroutine, Read from one at
// a time; Close must not be called before Read has returned, nor Accounts and
// Stats while it runs.
type Session struct {
	target    Target
	samplings []Sampling
	opts      Options

	cpus     []int
	events   []attached
	rings    []mappedRing
	watched  []watched // Read ends when all of these have ended
	format   uint64    // read_format of all events
	dropped  uint64    // side-band bits that this kernel does not know
	swapped  bool      // this kernel does not know keepsContexts
	counting bool      // for Counters: events that make no samples, no rings, no side-band
	// samplesOnly: no side-band, for openGrowth and OpenRecent.
	samplesOnly bool
	only        []int // indexes of the samplings to open; nil means all
	backward    bool  // for OpenRecent: rings that the kernel overwrites
	ringSize    int   // bytes of the next ring to be mapped

	poll   poller
	shared sharedRings // of Options.SharedRings
	merge  merger
	dec    Decoder
	raw    func(record []byte) // Reader.Raw
	grow   growing
	since  atomic.Uint64 // EnabledSince

	kernelCounts []kernelCount // of CountInKernel

	ofSamples  []stage
	ofOthers   []stage
	filter     pidFilter
	byCPU      bool     // samplings with Sampling.ByCPU watch CPUs: see canGoByCPU
	descent    *descent // for a process target with such samplings and other ones; else nil
	duplicates duplicates
	children   children // for a process target whose events are inherited; else nil

	accounts []Account
	stats    Stats
	closed   sync.Once
}

// Open opens every sampling on the target, disabled. Records about processes (all but samples)
// start here, so a caller that reads /proc after Open misses nothing.
//
// Sample.Sampling and Accounts refer to the order of samplings. The error is an *OpenError if
// the kernel refuses an event. A Started command then stays held, so that the caller can try
// other samplings, or Kill it.
func Open(target Target, samplings []Sampling, opts Options) (*Session, error) {
	s := &Session{target: target, samplings: samplings, opts: opts,
		accounts: make([]Account, len(samplings))}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.free())
	}
	return s, nil
}

func (s *Session) open() error {
	for i := range s.samplings {
		if err := s.samplings[i].validate(); err != nil {
			return err
		}
	}
	var err error
	if s.cpus, err = onlineCPUs(); err != nil {
		return err
	}
	s.cpus = slices.DeleteFunc(s.cpus, func(cpu int) bool { return slices.Contains(s.opts.ExcludeCPUs, cpu) })
	if len(s.cpus) == 0 {
		return errors.New("no CPU is left to watch")
	}
	s.format = readFormat
	s.ringSize = s.chooseRingSize()
	if s.poll, err = newPoller(); err != nil {
		return err
	}
	if s.opts.MaxDelay > 0 {
		s.poll.most = s.opts.MaxDelay
	}
	if err := s.attach(); err != nil {
		return err
	}
	s.nameLayouts()
	if s.target.kind == processTarget && !s.filter.active() {
		s.children = make(children)
		if s.byCPU {
			s.descent = newDescent(s.watched)
		}
	}
	s.compose()
	s.merge.clock = Now
	s.shared.poll = &s.poll
	for i := range s.rings {
		if s.rings[i].mem == nil {
			continue // the CPU went offline
		}
		s.merge.rings = append(s.merge.rings, s.rings[i].ring)
		switch {
		case s.opts.ExternalReader:
			continue
		case s.opts.SharedRings:
			if slices.ContainsFunc(s.samplings, isEachHit) { // other samples come at a known rate
				s.shared.fds = append(s.shared.fds, s.rings[i].fd)
			}
			continue
		}
		if err := s.poll.addRing(s.rings[i].fd); err != nil {
			return err
		}
	}
	return nil
}

// isEachHit reports whether each hit of a sampling's event is a sample.
func isEachHit(s Sampling) bool { return s.Period == 1 }

// Enable starts all samplings. If the target is a Started command, it runs from
// now on.
func (s *Session) Enable() error {
	if err := s.control(unix.PERF_EVENT_IOC_ENABLE); err != nil {
		return fmt.Errorf("enable events: %w", err)
	}
	if s.target.command != nil {
		return s.target.command.release()
	}
	return nil
}

// Start lets a Started command run before it is sampled. Enable may be called later, also after
// a Disable. For other targets Start does nothing.
func (s *Session) Start() error {
	if s.target.command == nil {
		return nil
	}
	return s.target.command.release()
}

// Disable stops all samplings. Read still hands on the samples in the rings, and new records
// about processes.
func (s *Session) Disable() error {
	if err := s.control(unix.PERF_EVENT_IOC_DISABLE); err != nil {
		return fmt.Errorf("disable events: %w", err)
	}
	return nil
}

// Pause stops the samplings on one CPU, or starts them again if pause is false. The session must
// be enabled.
func (s *Session) Pause(cpu int, pause bool) error {
	request := uint(unix.PERF_EVENT_IOC_ENABLE)
	if pause {
		request = unix.PERF_EVENT_IOC_DISABLE
	}
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	on := slices.DeleteFunc(slices.Clone(s.events), func(e attached) bool { return e.cpu != cpu })
	if err := s.controlEvents(on, request); err != nil {
		return fmt.Errorf("pause the events of CPU %d: %w", cpu, err)
	}
	return nil
}

// EnabledSince returns when the last Enable had enabled all samplings (CLOCK_MONOTONIC in
// nanoseconds). It returns 0 before that, and once Disable has started. It may be called from any
// goroutine.
func (s *Session) EnabledSince() uint64 { return s.since.Load() }

func (s *Session) control(request uint) error {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	s.since.Store(0)
	s.grow.on = request == unix.PERF_EVENT_IOC_ENABLE
	err := s.controlEvents(s.events, request)
	if err == nil && s.target.kind == processTarget {
		// Again: a thread that is being born may have inherited an event in its old
		// state, and the first request may not reach its copy.
		err = s.controlEvents(s.events, request)
	}
	if err == nil && s.grow.on {
		s.since.Store(Now())
	}
	return err
}

func (s *Session) controlEvents(events []attached, request uint) error {
	for _, e := range events {
		if e.sampling == sideBand {
			continue
		}
		if err := unix.IoctlSetInt(e.fd, request, 0); err != nil {
			return fmt.Errorf("%s: %w", s.samplings[e.sampling].Event, err)
		}
	}
	return nil
}

// Read calls handle with the records of all CPUs in time order until ctx is done or the target
// is gone. Then it disables the samplings and hands on the remaining records. A target is gone
// when its processes or threads have ended, even if their children live on. The whole system is
// never gone.
//
// A record is valid until handle returns. If handle fails, Read immediately returns its error.
// Any other error means that polling or disabling failed.
func (s *Session) Read(ctx context.Context, handle func(Record) error) error {
	return new(Reader).Read(ctx, s, handle)
}

// Close closes all events and unmaps the rings. It kills a Started command that is still held.
// Later calls do nothing.
func (s *Session) Close() error {
	err := error(nil)
	s.closed.Do(func() {
		if s.target.command != nil {
			s.target.command.Kill()
		}
		err = s.free()
	})
	if err != nil {
		return fmt.Errorf("close perf session: %w", err)
	}
	return nil
}

func (s *Session) free() error {
	s.grow.closing.Wait()
	if g := s.grow.next; g != nil {
		s.events = append(s.events, g.events...)
	}
	errs := []error{s.detach(), s.poll.close()}
	for _, w := range s.watched {
		errs = append(errs, w.close())
	}
	return errors.Join(errs...)
}
