package perfevent

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Account says where the events of one sampling went. After Read has returned,
// and when Exact is set,
//
//	Received + Duplicates + Filtered + Lost + Apart = Counted
//
// Where Duplicates and Lost are both above zero, some of the lost may be doubles
// of what was received.
//
// GrowStack and CountApart may leave Counted a few hits above that sum, see growth.
//
// On the whole system a kernel may count more than that: one was seen (6.18, in
// a VM) whose software and tracepoint events count what process 1 does but never
// record it. A caller should report such a rest as not recorded.
type Account struct {
	Received   uint64 // samples handed on
	Weight     uint64 // the sum of their periods
	Duplicates uint64 // left out because they came by two ways; the kernel counted each
	Filtered   uint64 // left out because they were not the target's
	Lost       uint64 // samples that did not fit in the ring
	Apart      uint64 // hits that were counted in place of a sample: see Session.CountApart
	Rest       uint64 // hits that the filter kept out, which are in no other number: see Sampling.CountRest
	// Overwritten is, of recent samples, those that later ones were written over.
	Overwritten uint64
	Throttled   uint64 // times that the kernel stopped the event because it fired too often
	Counted     uint64 // the kernel's own count, in the event's unit
	// Enabled is how long the event was enabled and Running how long it
	// really counted, summed over CPUs; a hardware counter that is shared
	// runs less.
	Enabled, Running time.Duration
	// Exact: every event was to be a sample, and the kernel says what was
	// lost (Linux 6.0), so the numbers must add up.
	Exact bool
}

// Stats says how well a session's reading went. All but the first two should be
// zero on a healthy system.
type Stats struct {
	Rings     int // number of rings
	RingBytes int // size of the smallest

	Lost         uint64 // records of all kinds that did not fit in a ring, as far as the kernel has reported them
	SideBandLost uint64 // of these, records about processes (Linux 6.0)
	Malformed    uint64 // records that could not be decoded
	Unknown      uint64 // records of a type that this package does not know
	OrderBreaks  uint64 // records handed on later than one with a later time
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
		if e.part == theRest {
			accounts[e.sampling].Rest += c.value
			continue
		}
		accounts[e.sampling].enter(c)
	}
	counts, err := s.Apart()
	if err != nil {
		return nil, err
	}
	for i, n := range counts {
		accounts[s.apart[i].sampling].Apart += n
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
	stats.Rings = len(s.merge.rings)
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
