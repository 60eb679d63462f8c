package perfevent

import (
	"slices"

	"golang.org/x/sys/unix"
)

// maxForeign is how many bytes of samples a second ByCPU may cost a host whose CPUs are all
// busy with others. It is 999 Hz with large stacks on eight CPUs, or 49 Hz on 160.
const maxForeign = 256 << 20

// canGoByCPU reports whether samplings of Sampling.ByCPU watch the CPUs: there is one,
// the target is processes, the caller may watch the whole system, and the samples of
// others, which are dropped, do not cost too much. Whether the machine has their events is
// not asked here.
//
// Context switches that come with the first sampling, and recent samples, must be the
// target's own.
func (s *Session) canGoByCPU() bool {
	if s.target.kind != processTarget || s.opts.Recent || s.opts.Switches != nil && s.opts.Switches.Sampled {
		return false
	}
	first, bytes := -1, uint64(0)
	for i := range s.samplings {
		if sampling := &s.samplings[i]; sampling.ByCPU {
			if first < 0 {
				first = i
			}
			bytes += sampling.Frequency * uint64(sampling.recordBytes()*len(s.cpus))
		}
	}
	return first >= 0 && bytes <= maxForeign && s.mayWatchCPU(first)
}

// mayWatchCPU tries whether a sampling may be opened on a CPU.
func (s *Session) mayWatchCPU(sampling int) bool {
	attr := sampleAttr(&s.samplings[sampling], false, 0, s.format&^unix.PERF_FORMAT_LOST)
	fd, err := perfEventOpen(&attr, s.samplings[sampling].Event.text, subject{pid: -1}, s.cpus[0], noGroup)
	if err != nil {
		return false
	}
	return unix.Close(fd) == nil
}

// allByCPU reports whether the session has no need of events on threads: then births
// and ends come from the CPUs too, and the target need not inherit anything.
func (s *Session) allByCPU() bool {
	return s.opts.Switches == nil && !slices.ContainsFunc(s.samplings, func(sampling Sampling) bool { return !sampling.ByCPU })
}

// isWide reports whether a sampling watches the CPUs, whatever the target is.
func (s *Session) isWide(sampling int) bool {
	return s.samplings[sampling].SystemWide || s.byCPU && s.samplings[sampling].ByCPU
}

func (s *Session) hasWide() bool {
	for i := range s.samplings {
		if s.isWide(i) {
			return true
		}
	}
	return false
}

// Inherits reports whether a sampling's events are on threads, which hand them down to
// their children: see Sampling.ByCPU.
func (s *Session) Inherits(sampling int) bool {
	return s.target.kind == processTarget && !s.filter.active() && !s.isWide(sampling)
}

// WatchesOthers reports whether a sampling's events also sample what is not the target's. An
// Account counts these samples as Filtered, and among its Lost are some of theirs.
func (s *Session) WatchesOthers(sampling int) bool {
	return s.target.kind == processTarget && (s.filter.active() || s.isWide(sampling))
}

// descent picks the samples of the target's processes and their children out of those
// of CPUs, where the records about processes are the target's own: pidFilter is for
// those of the whole system.
type descent struct {
	roots []watched
	lives map[uint32]*life
}

// life is a process of the target.
type life struct {
	threads int // that live; of one that the session was opened on, those that began since
	root    *watched
	ended   uint64 // by its last EXIT record; 0: it lives
}

// reuse is how long, in nanoseconds, a number stays that of a process that has ended. What
// it does after its EXIT record is sampled too, and no kernel gives all other numbers
// away as fast.
const reuse = 100e6

func newDescent(roots []watched) *descent {
	d := &descent{roots: roots, lives: make(map[uint32]*life)}
	for i := range roots {
		d.lives[uint32(roots[i].pid)] = &life{root: &roots[i]}
	}
	return d
}

// follow notes births and ends.
func (d *descent) follow(rec Record) {
	switch r := rec.(type) {
	case *Fork:
		if p := d.lives[r.PID]; p != nil && r.PID == r.PPID {
			p.threads++
		} else {
			d.lives[r.PID] = &life{threads: 1}
		}
	case *Exit:
		p := d.lives[r.PID]
		if p == nil {
			return
		}
		p.threads--
		if p.root == nil && p.threads == 0 || p.root != nil && p.root.hasEnded() {
			p.ended = r.Time
		}
	}
}

// has reports whether a sample is of the target.
func (d *descent) has(sample *Sample) bool {
	p := d.lives[sample.PID]
	if p == nil || p.ended == 0 {
		return p != nil
	}
	if sample.Time < p.ended+reuse {
		return true
	}
	delete(d.lives, sample.PID)
	return false
}

// followDescent is the stage that keeps descent.
func (s *Session) followDescent(rec Record) Record {
	s.descent.follow(rec)
	return rec
}

// keepDescent is the stage that drops the samples of others.
func (s *Session) keepDescent(rec Record) Record {
	sample := rec.(*Sample)
	if !s.samplings[sample.Sampling].ByCPU || s.descent.has(sample) {
		return rec
	}
	s.accounts[sample.Sampling].Filtered++
	return nil
}
