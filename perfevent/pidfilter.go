package perfevent

import (
	"slices"

	"golang.org/x/sys/unix"
)

// pidFilter selects the records of some processes from those of the whole system. It includes
// children that they create from now on: their fork records come before anything they do.
type pidFilter struct {
	pids map[uint32]bool
	tids map[uint32]bool // if not nil, pass only samples of these threads
	// samplings are the session's. All samples of SystemWide samplings pass.
	samplings []Sampling
}

func newPIDFilter(target Target, processes []watched, samplings []Sampling) pidFilter {
	f := pidFilter{pids: make(map[uint32]bool), samplings: samplings}
	for _, p := range processes {
		f.pids[uint32(p.pid)] = true
	}
	if target.kind == threadTarget {
		f.tids = make(map[uint32]bool)
		for _, tid := range target.pids {
			f.tids[uint32(tid)] = true
		}
	}
	return f
}

func (f *pidFilter) active() bool { return f.pids != nil }

// wants reports whether a record is about the filter's processes. Records that
// are about no process are wanted.
func (f *pidFilter) wants(rec Record) bool {
	switch r := rec.(type) {
	case *Sample:
		if r.Sampling < len(f.samplings) && f.samplings[r.Sampling].SystemWide {
			return true
		}
		if f.tids != nil {
			return f.tids[r.TID]
		}
		return f.pids[r.PID]
	case *Switch:
		return f.pids[r.Header.PID] || f.pids[r.OtherPID]
	case *Mmap:
		return f.pids[r.PID]
	case *Comm:
		return f.pids[r.PID]
	case *Namespaces:
		return f.pids[r.PID]
	case *Exit:
		return f.pids[r.PID]
	case *Fork:
		// A reused id belongs to the new process.
		if r.PID != r.PPID {
			if f.pids[r.PPID] && f.tids == nil {
				f.pids[r.PID] = true
			} else {
				delete(f.pids, r.PID)
			}
		}
		return f.pids[r.PID]
	}
	return true
}

// keepTarget is the stage that drops the records of other processes, if the whole system is
// watched for the target.
func (s *Session) keepTarget(rec Record) Record {
	if s.filter.wants(rec) {
		return rec
	}
	if sample, ok := rec.(*Sample); ok {
		s.accounts[sample.Sampling].Filtered++
	}
	return nil
}

// maxForeign is how many bytes of samples a second ByCPU may take if other processes keep all
// CPUs busy. It allows 999 Hz with large stacks on eight CPUs, or 49 Hz on 160.
const maxForeign = 256 << 20

// canGoByCPU reports whether samplings with ByCPU watch the CPUs instead of the target's
// threads. All of these must be true:
//
//   - The target is processes, and there is a sampling with ByCPU.
//   - The caller may open the first one on a CPU.
//   - Samples of other processes, which are dropped, do not exceed maxForeign.
//   - No context switches come with the first sampling, and there is no Recent. Both need
//     events on the target's threads.
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

// mayWatchCPU opens a sampling on a CPU and closes it, and reports whether that worked.
func (s *Session) mayWatchCPU(sampling int) bool {
	attr := sampleAttr(&s.samplings[sampling], false, 0, s.format&^unix.PERF_FORMAT_LOST)
	fd, err := perfEventOpen(&attr, s.samplings[sampling].Event.text, subject{pid: -1}, s.cpus[0], noGroup)
	if err != nil {
		return false
	}
	return unix.Close(fd) == nil
}

// allByCPU reports whether the session needs no events on threads. Then the side-band watches
// CPUs too.
func (s *Session) allByCPU() bool {
	return s.opts.Switches == nil && !slices.ContainsFunc(s.samplings, func(sampling Sampling) bool { return !sampling.ByCPU })
}

// isWide reports whether a sampling watches all CPUs, although the target may be smaller.
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

// Inherits reports whether a sampling's events are on threads, so that children inherit them:
// see Sampling.ByCPU.
func (s *Session) Inherits(sampling int) bool {
	return s.target.kind == processTarget && !s.filter.active() && !s.isWide(sampling)
}

// WatchesOthers reports whether a sampling's events also sample processes that are not in the
// target. An Account counts these samples as Filtered, or as Lost if they were lost.
func (s *Session) WatchesOthers(sampling int) bool {
	return s.target.kind == processTarget && (s.filter.active() || s.isWide(sampling))
}

// descent selects the samples of the target's processes and their children from those of all
// CPUs. It is for sessions whose side-band has only the target's records; pidFilter is for
// those with a side-band of the whole system.
type descent struct {
	roots []watched
	lives map[uint32]*life
}

// life is the state of one process of the target.
type life struct {
	threads int      // that live; for a root, started minus ended since Open
	root    *watched // if the session was opened on the process; else nil
	ended   uint64   // time of its last EXIT record in nanoseconds; 0 while it lives
}

// reuse is how long, in nanoseconds, a process id still stands for a process that has ended. A
// process is also sampled after its EXIT record. No kernel reuses an id within that time,
// since it assigns all other ids first.
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

// has reports whether a sample belongs to the target.
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

// followDescent is the stage that updates s.descent.
func (s *Session) followDescent(rec Record) Record {
	s.descent.follow(rec)
	return rec
}

// keepDescent is the stage that drops samples of other processes, by s.descent.
func (s *Session) keepDescent(rec Record) Record {
	sample := rec.(*Sample)
	if !s.samplings[sample.Sampling].ByCPU || s.descent.has(sample) {
		return rec
	}
	s.accounts[sample.Sampling].Filtered++
	return nil
}
