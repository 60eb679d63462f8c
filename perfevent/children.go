package perfevent

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// children are the living children of a target's processes that inherited its events,
// as far as the records that were read say it.
type children map[uint32]child

// child is one process.
type child struct {
	born    uint64
	threads int // that live
}

// followChildren is the stage that notes the births and ends of children. All records
// come from processes that have the events.
func (s *Session) followChildren(rec Record) Record {
	c := s.children
	switch r := rec.(type) {
	case *Fork:
		if r.PID != r.PPID {
			c[r.PID] = child{born: r.Time, threads: 1}
		} else if p, ok := c[r.PID]; ok {
			p.threads++
			c[r.PID] = p
		}
	case *Exit:
		if p, ok := c[r.PID]; ok {
			if p.threads--; p.threads > 0 {
				c[r.PID] = p
			} else {
				delete(c, r.PID)
			}
		}
	}
	return rec
}

// uncovered lists the processes that were born before the growth had opened all
// its events, so that they have not inherited them, or not all.
func (g *growth) uncovered(c children) []int {
	var pids []int
	for pid, p := range c {
		if p.born <= g.opened && !slices.Contains(g.pids, int(pid)) {
			pids = append(pids, int(pid))
		}
	}
	return pids
}

// cover opens the events of a growth on more processes. What these inherited
// nonetheless comes twice then, and duplicates leaves it out.
func (s *Session) cover(g *growth, pids []int) error {
	for _, pid := range pids {
		o := s.growthSession(g)
		o.target.pids = []int{pid}
		o.watched = []watched{{pid: pid, tid: pid, pidfd: -1}}
		err := o.attachThreads()
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return errors.Join(err, closeEvents(o.events))
		}
		for i := range o.events {
			o.events[i].origin += g.origins
		}
		g.add(o.events)
		g.pids = append(g.pids, pid)
	}
	g.ambiguous = true
	g.opened = Now()
	return nil
}

// add takes events into the growth.
func (g *growth) add(events []attached) {
	for _, e := range events {
		g.origins = max(g.origins, e.origin+1)
	}
	g.events = append(g.events, events...)
}
