package perfevent

import (
	"errors"
	"fmt"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// CountApart has the kernel count some hits of a sampling, in place of a sample for each:
// those that pass one of filters. A count costs a hit a fraction of what a sample costs.
// rest passes all other hits, which stay samples. No hit may pass two of them all, and each
// must pass one, or hits are counted twice or are missed. Without filters hits that do not pass
// rest are left out.
//
// The change is exact. It takes effect from about the next look at the rings on, without a
// hit being missed, or counted and handed on. Apart tells the counts.
//
// It is for the whole system, and for tracepoints that are sampled with a Period of 1 and
// are Unweighted; for others the error is ErrInvalid. It is ErrGrowing until an earlier
// change is through, and an *OpenError if the events cannot be opened. All stays as it is
// then. CountApart may be called while Read runs, also by the function that Read calls.
func (s *Session) CountApart(sampling int, filters []string, rest string) error {
	of := &s.samplings[sampling]
	if s.target.kind != systemTarget || of.Event.attr.Type != perf.TracepointEvent || !of.Unweighted {
		return &OpenError{Event: of.Event.String(), Target: s.target.String(), Kind: ErrInvalid, Err: ErrInvalid,
			Hint: "only hits of tracepoints on the whole system can be counted apart"}
	}
	if !s.reserveGrowth() {
		return ErrGrowing
	}
	g, err := s.openApart(sampling, filters, rest)
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	if err != nil {
		s.grow.busy = false
		return fmt.Errorf("count hits of %s apart: %w", of.Event, err)
	}
	s.grow.next = g
	s.poll.wake()
	return nil
}

// reserveGrowth keeps others from growing at the same time.
func (s *Session) reserveGrowth() bool {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	if s.grow.busy {
		return false
	}
	s.grow.busy = true
	return true
}

// apart is what one filter of CountApart counts. On each CPU it has an event that counts, and a
// passing one that samples the same hits. All start at once, between two hits. While the events
// before the change still run, the passing samples tell which of their samples come twice, as
// in each growth; then the passing events are disabled. Of a hit that was counted there is a
// passing sample, which was handed on, or it is counted apart.
type apart struct {
	sampling int
	handed   uint64 // passing samples that were handed on, and such as were lost
}

// The parts of events in CountApart, and in CountRest.
const (
	noPart  = iota
	counts  // counts the hits of a filter
	passing // samples them for a moment
	theRest // counts what a sampling's filter keeps out: Sampling.CountRest
)

// openApart opens the events that take over, disabled. Those of a CPU are a group, whose leader
// is one that counts: it stays to the end, while a later change replaces the one for the rest.
func (s *Session) openApart(sampling int, filters []string, rest string) (*growth, error) {
	g := &growth{changing: []int{sampling}, larger: s.samplings, apart: true, filters: len(filters)}
	o := s.growthSession(g)
	for cpu := range s.cpus {
		if s.rings[cpu].mem == nil {
			continue // it is offline
		}
		if err := o.openGroup(cpu, sampling, filters, rest); err != nil {
			return nil, errors.Join(err, closeEvents(o.events))
		}
	}
	g.opened = Now()
	g.add(o.events)
	return g, nil
}

// openGroup opens the events of a CPU.
func (s *Session) openGroup(cpu, sampling int, filters []string, rest string) error {
	group := noGroup
	for i, filter := range filters {
		for _, part := range []uint8{counts, passing} {
			info := eventInfo{sampling: int32(sampling), apart: int32(i), part: part}
			fd, err := s.openMember(cpu, group, filter, info)
			if err != nil {
				return err
			}
			if group == noGroup {
				group = fd
			}
		}
	}
	_, err := s.openMember(cpu, group, rest, eventInfo{sampling: int32(sampling)})
	return err
}

// openMember opens an event of a group. All but the first are on when that is.
func (s *Session) openMember(cpu, group int, filter string, info eventInfo) (fd int, err error) {
	of := s.samplings[info.sampling]
	of.Filter = filter
	attr := sampleAttr(&of, false, s.watermark(), s.format)
	if group != noGroup {
		attr.Bits &^= unix.PerfBitDisabled
	}
	if info.part == counts {
		attr.Sample = 0 // it makes no samples
	}
	fd, err = perfEventOpen(&attr, of.Event.text, subject{pid: -1}, s.cpus[cpu], group)
	if err != nil {
		return 0, s.openError(of.Event.String(), &of, err)
	}
	if err := s.setFilter(fd, &of); err != nil {
		return 0, errors.Join(err, unix.Close(fd))
	}
	if info.part == counts {
		return fd, s.add(fd, cpu, info)
	}
	return fd, s.join(fd, cpu, info)
}

// beginApart books the filters of a growth, before its events are on.
func (s *Session) beginApart(g *growth) {
	before := int32(len(s.apart))
	for range g.filters {
		s.apart = append(s.apart, apart{sampling: g.changing[0]})
	}
	for i := range g.events {
		g.events[i].apart += before
	}
}

// stopPassing disables the passing events of a growth, when its old events are off.
func (s *Session) stopPassing(g *growth) error {
	before := len(g.old)
	for _, e := range g.events {
		if e.part == passing {
			g.old = append(g.old, e)
		}
	}
	return s.controlEvents(g.old[before:], unix.PERF_EVENT_IOC_DISABLE)
}

// endPassing books what the passing events of a growth have lost.
func (s *Session) endPassing(g *growth) error {
	for _, e := range g.old {
		if e.part != passing {
			continue
		}
		c, err := readCount(e.fd, s.format)
		if err != nil {
			return err
		}
		s.apart[e.apart].handed += c.lost
	}
	return nil
}

// bookedCount reads what an event adds to the account of its sampling. What a passing event has
// counted is in the count of another, and the time of all parts is that of the rest.
func (s *Session) bookedCount(e *attached) (count, error) {
	c, err := readCount(e.fd, s.format)
	if e.part != noPart {
		c.enabled, c.running = 0, 0
	}
	if e.part == passing {
		c.value = 0
	}
	return c, err
}

// bookApart is the stage that notes the passing samples.
func (s *Session) bookApart(rec Record) Record {
	if ev := s.dec.events.find(rec.Common().ID); ev != nil && ev.part == passing {
		s.apart[ev.apart].handed++
	}
	return rec
}

// Apart returns how many hits of each filter of CountApart have been counted and were no
// samples, in the order of the calls that have taken effect. It is final once Read has
// returned, and must not be called before.
func (s *Session) Apart() ([]uint64, error) {
	totals := make([]uint64, len(s.apart))
	for _, e := range s.events {
		if e.part == noPart || e.part == theRest {
			continue
		}
		c, err := readCount(e.fd, s.format)
		if err != nil {
			return nil, fmt.Errorf("read a count of %s: %w", s.samplings[e.sampling].Event, err)
		}
		if e.part == counts {
			totals[e.apart] += c.value
		} else {
			totals[e.apart] -= c.lost
		}
	}
	for i, a := range s.apart {
		totals[i] -= a.handed
	}
	return totals, nil
}
