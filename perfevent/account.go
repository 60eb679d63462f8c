package perfevent

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Account says what became of the hits of one sampling. If Exact is set, then after Read
// has returned
//
//	Received + Duplicates + Filtered + Lost + InKernel = Counted
//
// If Duplicates and Lost are both above 0, some of the lost samples may be duplicates of
// received ones.
//
// After GrowStack or CountInKernel, Counted may be a few hits above that sum: see growth.
//
// If the target is the whole system, a kernel may count hits that it never records. Linux
// 6.18 in a VM did so for the software events and tracepoints that process 1 hit. A caller
// should report the difference as not recorded.
type Account struct {
	Received   uint64 // samples passed to the caller
	Weight     uint64 // the sum of their periods
	Duplicates uint64 // samples dropped because their hit was recorded twice; Counted includes both
	Filtered   uint64 // samples dropped because they did not belong to the target
	Lost       uint64 // samples that did not fit in the ring
	InKernel   uint64 // hits that the kernel counted instead of sampling them: see Session.CountInKernel
	Rejected   uint64 // hits that the filter rejected; no other number includes them: see Sampling.CountRejected
	// Overwritten counts samples that newer ones overwrote in the rings of a Recent.
	Overwritten uint64
	Throttled   uint64 // times that the kernel stopped the event because it fired too often
	Counted     uint64 // the kernel's own count, in the event's unit
	// Enabled is how long the event was enabled, and Running how long it really
	// counted, summed over CPUs. Running is less if hardware events take turns.
	Enabled, Running time.Duration
	// Exact says that the numbers must add up: every hit should have made a sample,
	// and the kernel reports how many were lost (Linux 6.0).
	Exact bool
}

// Stats says how well a session was read. All but RingBytes should be zero on a healthy
// system.
type Stats struct {
	RingBytes int // size of the smallest ring

	Lost         uint64 // records of all kinds that did not fit in a ring, as far as the kernel has reported them
	SideBandLost uint64 // of these, records about processes (Linux 6.0)
	Malformed    uint64 // records that could not be decoded
	Unknown      uint64 // records of a type that this package does not know
	OrderBreaks  uint64 // records passed to the caller after one with a later time
}

// Accounts reads the kernel's counts and returns one account for each sampling,
// in their order. The numbers are final once Read has returned.
func (s *Session) Accounts() ([]Account, error) {
	accounts := make([]Account, len(s.accounts))
	copy(accounts, s.accounts)
	for i := range accounts {
		accounts[i].Exact = s.samplings[i].exact() && s.format&unix.PERF_FORMAT_LOST != 0 &&
			accounts[i].Weight == accounts[i].Received
	}
	for i := range s.events {
		e := &s.events[i]
		if e.sampling == sideBand {
			continue
		}
		c, err := s.bookedCount(e)
		if err != nil {
			return nil, fmt.Errorf("read the count of %s: %w", s.samplings[e.sampling].Event, err)
		}
		if e.part == rejected {
			accounts[e.sampling].Rejected += c.value
			continue
		}
		accounts[e.sampling].enter(c)
	}
	counts, err := s.KernelCounts()
	if err != nil {
		return nil, err
	}
	for i, n := range counts {
		accounts[s.kernelCounts[i].sampling].InKernel += n
	}
	for i, r := range s.grow.retired {
		accounts[i].enter(r.count)
		accounts[i].Exact = accounts[i].Exact && !r.inexact
	}
	return accounts, nil
}

// Stats returns the session's statistics.
func (s *Session) Stats() (Stats, error) {
	stats := s.stats
	stats.OrderBreaks = s.merge.breaks
	for _, r := range s.merge.rings {
		stats.Malformed += r.malformed
		if stats.RingBytes == 0 || len(r.data) < stats.RingBytes {
			stats.RingBytes = len(r.data)
		}
	}
	for _, e := range s.events {
		if e.sampling != sideBand {
			continue
		}
		c, err := readCount(e.fd, s.format)
		if err != nil {
			return Stats{}, fmt.Errorf("read what the side-band lost: %w", err)
		}
		stats.SideBandLost += c.lost
	}
	return stats, nil
}

// countLosses is the stage that counts throttling and lost records. It comes first, because
// a later stage may drop the Lost record as a duplicate.
func (s *Session) countLosses(rec Record) Record {
	switch rec := rec.(type) {
	case *Throttle:
		if ev := s.dec.events.find(rec.EventID); !rec.Unthrottle && ev != nil && ev.sampling >= 0 {
			s.accounts[ev.sampling].Throttled++
		}
	case *Lost:
		s.stats.Lost += rec.Lost
		if ev := s.dec.events.find(rec.EventID); s.format&unix.PERF_FORMAT_LOST == 0 && ev != nil && ev.sampling >= 0 {
			s.accounts[ev.sampling].Lost += rec.Lost
		}
	}
	return rec
}

// readFormat requests the fields of count. The kernel knows PERF_FORMAT_LOST since Linux 6.0.
const readFormat = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING |
	unix.PERF_FORMAT_ID | unix.PERF_FORMAT_LOST

// count is the result of reading an event. Times are in nanoseconds; lost counts records.
type count struct {
	value, enabled, running, id, lost uint64
}

func readCount(fd int, format uint64) (count, error) {
	var b [40]byte
	want := 32
	if format&unix.PERF_FORMAT_LOST != 0 {
		want = 40
	}
	n, err := unix.Read(fd, b[:want])
	if err != nil {
		return count{}, err
	}
	if n != want {
		return count{}, fmt.Errorf("read %d bytes of an event's %d", n, want)
	}
	le := binary.LittleEndian
	return count{value: le.Uint64(b[0:]), enabled: le.Uint64(b[8:]), running: le.Uint64(b[16:]),
		id: le.Uint64(b[24:]), lost: le.Uint64(b[32:])}, nil
}

func (c *count) add(o count) {
	c.value += o.value
	c.lost += o.lost
	c.enabled += o.enabled
	c.running += o.running
}

// enter adds the counts of events to an account.
func (a *Account) enter(c count) {
	a.Counted += c.value
	a.Lost += c.lost
	a.Enabled += time.Duration(c.enabled)
	a.Running += time.Duration(c.running)
}

// Running says for how much of the target's running time a sampling counted.
type Running struct {
	// Enabled is how long the target ran, and Counted for how much of that the event
	// counted, summed over CPUs. Counted is less if there are more hardware events than
	// the CPU has counters, so that the events take turns (perf_event_open(2),
	// PERF_FORMAT_TOTAL_TIME_RUNNING).
	Enabled, Counted time.Duration
}

// Running returns how long each sampling has counted so far, in order. Enabled starts at
// Open, so only the difference of two readings is meaningful. Only the goroutine that
// handles the records may call Running, between Open and Close.
//
// Enabled is the time for which the side-band's dummy events counted, since they need no
// hardware counter. The enabled time of a thread's event is of no use: it goes on while the
// thread runs on another CPU. For samplings that watch CPUs (SystemWide, ByCPU), Enabled is
// the time of their own events.
func (s *Session) Running() ([]Running, error) {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	all := make([]Running, len(s.samplings))
	for i, r := range s.grow.retired {
		all[i].Counted = time.Duration(r.running)
	}
	var enabled time.Duration
	for _, e := range s.events {
		c, err := readCount(e.fd, s.format)
		if err != nil {
			return nil, fmt.Errorf("read how long events have counted: %w", err)
		}
		if e.sampling == sideBand {
			enabled += time.Duration(c.running)
			continue
		}
		all[e.sampling].Counted += time.Duration(c.running)
		if s.isWide(int(e.sampling)) {
			all[e.sampling].Enabled += time.Duration(c.enabled)
		}
	}
	for i := range all {
		if !s.isWide(i) {
			all[i].Enabled = enabled
		}
	}
	return all, nil
}
