package helper

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// pendingReading is a visit that is not classified yet. Times are in ns of CLOCK_MONOTONIC.
type pendingReading struct {
	Reading
	began, ended uint64 // the read
	switchedOut  uint64 // the switch away from the thread, if next says that there was one
	next         nextSwitch
}

// classifier decides how certain readings are. It runs in the caller, in Reader.Read.
type classifier struct {
	cpus    []cpuSwitches
	pending []*pendingReading
}

// cpuSwitches is what the child's thread for one CPU has reported.
type cpuSwitches struct {
	progress  uint64     // everything before this time is known
	switchIns []switchIn // in order of time
	lost      []timeSpan // in which switches may be missing
}

// switchIn is a switch to the thread tid.
type switchIn struct {
	time uint64
	tid  uint32
}

type timeSpan struct{ from, to uint64 }

// switchHistory is how long switches are kept, in ns. A visit is far shorter.
const switchHistory = uint64(5 * time.Second)

// knownUntil returns the time before which everything is known of all CPUs.
func (c *classifier) knownUntil() uint64 {
	known := uint64(math.MaxUint64)
	for i := range c.cpus {
		known = min(known, c.cpus[i].progress)
	}
	return known
}

// completeBefore returns the time before which all samples' readings have been taken.
func (c *classifier) completeBefore() uint64 {
	before := c.knownUntil()
	for _, p := range c.pending {
		before = min(before, p.Time)
	}
	return before
}

// takeClassified classifies the pending readings for which enough is known. It removes them and
// returns them in order of their samples' times.
func (c *classifier) takeClassified() []*pendingReading {
	known := c.knownUntil()
	var done []*pendingReading
	c.pending = slices.DeleteFunc(c.pending, func(p *pendingReading) bool {
		if p.ended > known {
			return false
		}
		c.classify(p, known)
		done = append(done, p)
		return true
	})
	for i := range c.cpus {
		c.cpus[i].forget(known - min(known, switchHistory))
	}
	slices.SortStableFunc(done, func(a, b *pendingReading) int { return cmp.Compare(a.Time, b.Time) })
	return done
}

// classify sets a reading's Certainty, Reason and Late. Everything before known is known.
func (c *classifier) classify(p *pendingReading, known uint64) {
	p.Late = time.Duration(p.ended - min(p.Time, p.ended))
	if p.Reason != NoReason {
		return // the visit failed: Certainty stays None
	}
	p.Certainty = Near
	switch {
	case p.next == noSwitch || p.switchedOut > p.began:
		p.Reason = KeptRunning
	case p.next == otherRegisters:
		p.Reason = RegistersChanged
	case p.switchedOut+switchHistory < known || c.lostBetween(p.switchedOut, p.ended):
		p.Reason = SwitchesLost
	case c.ranBetween(p.TID, p.switchedOut, p.ended):
		p.Reason = Resumed
	default:
		p.Certainty = Exact
	}
}

// ranBetween reports whether any CPU switched to a thread in a span of time, both ends included.
func (c *classifier) ranBetween(tid uint32, from, to uint64) bool {
	for i := range c.cpus {
		ins := c.cpus[i].switchIns
		first, _ := slices.BinarySearchFunc(ins, from, compareTime)
		for _, s := range ins[first:] {
			if s.time > to {
				break
			}
			if s.tid == tid {
				return true
			}
		}
	}
	return false
}

// lostBetween reports whether switches of any CPU may be missing in a span of time.
func (c *classifier) lostBetween(from, to uint64) bool {
	for i := range c.cpus {
		if slices.ContainsFunc(c.cpus[i].lost, func(l timeSpan) bool { return l.from <= to && from <= l.to }) {
			return true
		}
	}
	return false
}

// add inserts a switch in order of time. Two records may be in the wrong order in a ring, because
// the kernel reads the time of a record before it reserves the record's place.
func (s *cpuSwitches) add(in switchIn) {
	i := len(s.switchIns)
	for i > 0 && s.switchIns[i-1].time > in.time {
		i--
	}
	s.switchIns = slices.Insert(s.switchIns, i, in)
}

// forget deletes what happened before a time.
func (s *cpuSwitches) forget(before uint64) {
	n, _ := slices.BinarySearchFunc(s.switchIns, before, compareTime)
	s.switchIns = slices.Delete(s.switchIns, 0, n)
	s.lost = slices.DeleteFunc(s.lost, func(l timeSpan) bool { return l.to < before })
}

func compareTime(s switchIn, time uint64) int { return cmp.Compare(s.time, time) }
