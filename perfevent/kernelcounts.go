package perfevent

import (
	"errors"
	"fmt"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// CountInKernel makes the kernel count the hits of a sampling that pass one of filters, instead
// of taking a sample of each. A count costs a hit a fraction of what a sample costs. The hits
// that pass rest stay samples. Every hit must pass exactly one of filters and rest, or hits are
// counted twice or missed. Without filters, the kernel drops the hits that do not pass rest.
//
// The change takes effect at about the next look at the rings. Every hit is either sampled or
// counted, never both. KernelCounts returns the counts.
//
// The target must be the whole system and the event a tracepoint with UnitWeight and a Period of
// 1; otherwise the error is ErrInvalid. The error is ErrGrowing while an earlier change is under
// way, and an *OpenError if the events cannot be opened. An error changes nothing. CountInKernel
// may be called while Read runs, even from the function that Read calls.
func (s *Session) CountInKernel(sampling int, filters []string, rest string) error {
	of := &s.samplings[sampling]
	if s.target.kind != systemTarget || of.Event.attr.Type != perf.TracepointEvent || !of.UnitWeight {
		return &OpenError{Event: of.Event.String(), Target: s.target.String(), Kind: ErrInvalid, Err: ErrInvalid,
			Hint: "only hits of tracepoints on the whole system can be counted in the kernel"}
	}
	if !s.reserveGrowth() {
		return ErrGrowing
	}
	g, err := s.openKernelCounts(sampling, filters, rest)
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	if err != nil {
		s.grow.busy = false
		return fmt.Errorf("count hits of %s in the kernel: %w", of.Event, err)
	}
	s.grow.next = g
	s.poll.wake()
	return nil
}

// reserveGrowth prevents other changes until this one ends. It returns false if another change
// is under way.
func (s *Session) reserveGrowth() bool {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	if s.grow.busy {
		return false
	}
	s.grow.busy = true
	return true
}

// kernelCount is one filter of CountInKernel. On each CPU it has a counting event and a passing
// event, which samples the same hits. All of them start at the same time, between two hits. While
// the old events still run, the passing samples show which old samples are duplicates, as in every
// growth. Then the passing events are disabled. So each counted hit either has a passing sample,
// which was handed on, or is in KernelCounts.
type kernelCount struct {
	sampling int
	handed   uint64 // passing samples that were handed on or lost
}

// The parts that events have in CountInKernel and Sampling.CountRejected.
const (
	noPart   = iota
	counts   // counts the hits of a filter
	passing  // samples the same hits during the change
	rejected // counts the hits that a sampling's filter rejects: Sampling.CountRejected
)

// openKernelCounts opens the events that take over, disabled. The events of a CPU are a group. A
// counting event leads it, because it stays to the end, while a later change replaces the event
// that samples the rest.
func (s *Session) openKernelCounts(sampling int, filters []string, rest string) (*growth, error) {
	g := &growth{changing: []int{sampling}, larger: s.samplings, inKernel: true, filters: len(filters)}
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

// openGroup opens the group of events on one CPU: two for each filter, and one for rest.
func (s *Session) openGroup(cpu, sampling int, filters []string, rest string) error {
	group := noGroup
	for i, filter := range filters {
		for _, part := range []uint8{counts, passing} {
			info := eventInfo{sampling: int32(sampling), kernelCount: int32(i), part: part}
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

// openMember opens an event of a group. The members are enabled together with the first one.
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

// beginKernelCounts adds the filters of a growth to s.kernelCounts, before its events are enabled.
func (s *Session) beginKernelCounts(g *growth) {
	before := int32(len(s.kernelCounts))
	for range g.filters {
		s.kernelCounts = append(s.kernelCounts, kernelCount{sampling: g.changing[0]})
	}
	for i := range g.events {
		g.events[i].kernelCount += before
	}
}

// stopPassing disables the passing events of a growth, once its old events are disabled.
func (s *Session) stopPassing(g *growth) error {
	before := len(g.old)
	for _, e := range g.events {
		if e.part == passing {
			g.old = append(g.old, e)
		}
	}
	return s.controlEvents(g.old[before:], unix.PERF_EVENT_IOC_DISABLE)
}

// endPassing adds the samples that the passing events of a growth have lost.
func (s *Session) endPassing(g *growth) error {
	for _, e := range g.old {
		if e.part != passing {
			continue
		}
		c, err := readCount(e.fd, s.format)
		if err != nil {
			return err
		}
		s.kernelCounts[e.kernelCount].handed += c.lost
	}
	return nil
}

// bookedCount reads what an event adds to the account of its sampling. It leaves out what another
// event adds already: the hits of a passing event, and the time of all parts.
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

// notePassing is the stage that counts the passing samples.
func (s *Session) notePassing(rec Record) Record {
	if ev := s.dec.events.find(rec.Common().ID); ev != nil && ev.part == passing {
		s.kernelCounts[ev.kernelCount].handed++
	}
	return rec
}

// KernelCounts returns, for each filter of CountInKernel, how many hits the kernel counted without
// a sample. The filters are in the order in which their calls took effect. KernelCounts must not
// be called before Read has returned.
func (s *Session) KernelCounts() ([]uint64, error) {
	totals := make([]uint64, len(s.kernelCounts))
	for _, e := range s.events {
		if e.part == noPart || e.part == rejected {
			continue
		}
		c, err := readCount(e.fd, s.format)
		if err != nil {
			return nil, fmt.Errorf("read a count of %s: %w", s.samplings[e.sampling].Event, err)
		}
		if e.part == counts {
			totals[e.kernelCount] += c.value
		} else {
			totals[e.kernelCount] -= c.lost
		}
	}
	for i, a := range s.kernelCounts {
		totals[i] -= a.handed
	}
	return totals, nil
}
