package perfevent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

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
	watched  []watched // what Read ends with
	format   uint64    // read_format of all events
	dropped  uint64    // side-band bits that this kernel does not know
	swapped  bool      // this kernel does not know keepsContexts
	counting bool      // for Counters: events that make no samples, no rings, no side-band
	// samplesOnly: no side-band, for openGrowth.
	samplesOnly bool
	only        []int // of the samplings, the ones that have events; nil is all
	backward    bool  // for Recent: rings that are written over
	ringSize    int   // bytes of the next ring to be mapped

	poll   poller
	shared sharedRings // of Options.Shared
	merge  merger
	dec    Decoder
	raw    func(record []byte) // Reader.Raw
	grow   growing
	since  atomic.Uint64 // EnabledSince
	apart  []apart       // of CountApart

	ofSamples  []stage
	ofOthers   []stage
	filter     pidFilter
	byCPU      bool     // samplings of Sampling.ByCPU watch the CPUs
	descent    *descent // of a process target with such samplings and others; else nil
	duplicates duplicates
	children   children // of a process target whose events are inherited, else nil

	accounts []Account
	stats    Stats
	closed   sync.Once
}

// attached is one open event.
type attached struct {
	fd  int
	id  uint64
	cpu int // anyCPU where it follows a thread
	eventInfo
}

// Open opens every sampling on the target, disabled. Records about processes
// (all but samples) are recorded from here on, so that a reading of /proc that
// begins after Open leaves no gap to them.
//
// The order of samplings is kept: Sample.Sampling and Accounts refer to it. An
// error is an *OpenError when the kernel refused. A Started command is then
// still held, so that the caller can try with other samplings, or Kill it.
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
	s.cpus = slices.DeleteFunc(s.cpus, func(cpu int) bool { return slices.Contains(s.opts.Without, cpu) })
	if len(s.cpus) == 0 {
		return errors.New("no CPU is left to watch")
	}
	s.format = readFormat
	s.ringSize = s.chooseRingSize()
	if s.poll, err = newPoller(); err != nil {
		return err
	}
	if s.opts.Within > 0 {
		s.poll.most = s.opts.Within
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
		case s.opts.HandOver:
			continue
		case s.opts.Shared:
			if slices.ContainsFunc(s.samplings, isEachHit) { // others come at a rate that is known
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

// nameLayouts tells the decoder what samples look like, and which are whose.
func (s *Session) nameLayouts() {
	attrs := make([]unix.PerfEventAttr, len(s.samplings))
	for i := range s.samplings {
		attrs[i] = sampleAttr(&s.samplings[i], false, 0, 0)
	}
	s.dec = newDecoder(attrs)
	s.nameEvents()
}

// nameEvents tells the decoder what the events' ids stand for.
func (s *Session) nameEvents() {
	ids := make([]uint64, len(s.events))
	infos := make([]eventInfo, len(s.events))
	for i, e := range s.events {
		ids[i], infos[i] = e.id, e.eventInfo
	}
	s.dec.events = newEventTable(ids, infos)
}

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

// Start lets a Started command run without its being sampled: Enable may come later,
// and again after Disable. For other targets it does nothing.
func (s *Session) Start() error {
	if s.target.command == nil {
		return nil
	}
	return s.target.command.release()
}

// Disable stops all samplings. Read goes on with what is in the rings, and
// records about processes still come.
func (s *Session) Disable() error {
	if err := s.control(unix.PERF_EVENT_IOC_DISABLE); err != nil {
		return fmt.Errorf("disable events: %w", err)
	}
	return nil
}

// Pause stops the samplings on one CPU until it is called with false. The session must
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

// EnabledSince is when the last Enable had all samplings on (CLOCK_MONOTONIC in nanoseconds), or 0
// if they are not, or Disable has begun to turn them off. It may be called from any goroutine.
func (s *Session) EnabledSince() uint64 { return s.since.Load() }

func (s *Session) control(request uint) error {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	s.since.Store(0)
	s.grow.on = request == unix.PERF_EVENT_IOC_ENABLE
	err := s.controlEvents(s.events, request)
	if err == nil && s.target.kind == processTarget {
		// Again, for a thread that is just being born to one whose event was not yet
		// as it is to be, and that the first time does not see yet.
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

// Read hands on the records of all CPUs in time order until ctx is done or the
// target is gone, then disables the samplings and hands on all that is left. A
// target is gone when its processes (or threads) have ended; children that
// outlive them do not keep it. The whole system never is.
//
// A record is valid until handle returns. An error of handle ends Read at once
// and is returned; otherwise the error says that polling or disabling failed.
func (s *Session) Read(ctx context.Context, handle func(Record) error) error {
	return new(Reader).Read(ctx, s, handle)
}

// Close closes all events and unmaps the rings. A command that was never let
// run is killed. Later calls do nothing.
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
