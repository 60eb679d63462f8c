package perfevent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// attach opens the events of the target.
func (s *Session) attach() error {
	if err := s.refuseInherited(); err != nil {
		return err
	}
	s.rings = make([]mappedRing, len(s.cpus))
	switch s.target.kind {
	case systemTarget:
		return s.attachSystem()
	case cgroupTarget:
		return s.attachCgroup()
	}
	if err := s.watch(); err != nil {
		return err
	}
	if sampling := s.onlySystem(); sampling != nil {
		return s.attachOthersToo(sampling)
	}
	if s.counting {
		if err := s.attachThreads(); err != nil {
			return err
		}
		return s.attachUntilClear()
	}
	if s.byCPU = s.canGoByCPU(); s.byCPU && s.allByCPU() {
		return s.attachSystemFiltered()
	}
	err := s.openThreads()
	if errors.Is(err, errThreadChurn) || errors.Is(err, ErrTooManyFiles) {
		err = s.attachFiltered(err)
		if !errors.Is(err, errThreadChurn) {
			return err
		}
		// The whole system may not be watched.
		if err = s.detach(); err == nil {
			s.rings = make([]mappedRing, len(s.cpus))
			err = s.attachThreads()
		}
	}
	if err != nil {
		return err
	}
	return s.attachSystemWide()
}

// detach closes all events and unmaps their rings.
func (s *Session) detach() error {
	var errs []error
	for i := range s.rings {
		errs = append(errs, s.rings[i].unmap())
	}
	errs = append(errs, closeEvents(s.events))
	s.events = nil
	return errors.Join(errs...)
}

// subject is a thread, a cgroup or the whole system, and says which events to open on it.
type subject struct {
	pid        int   // thread id, -1 for the whole system, or a descriptor of the cgroup's directory
	flags      int   // of perf_event_open
	origin     int32 // see eventInfo
	inherit    bool
	sideBand   bool
	samples    bool
	systemWide bool // open only the samplings for which isWide is true; else only the rest
}

// openEverywhere opens a subject's events on each CPU. A CPU that has gone
// offline is left out.
func (s *Session) openEverywhere(on subject) error {
	for cpu := range s.cpus {
		err := s.openOn(cpu, on)
		if errors.Is(err, unix.ENODEV) {
			s.opts.logger().Warn("CPU is offline and not watched", "cpu", s.cpus[cpu])
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasSideBand reports whether the session opens events for records about
// processes.
func (s *Session) hasSideBand() bool { return !s.counting && !s.samplesOnly }

func (s *Session) openOn(cpu int, on subject) error {
	if on.sideBand && s.hasSideBand() {
		if err := s.openSideBand(cpu, on); err != nil {
			return err
		}
	}
	if !on.samples {
		return nil
	}
	for i := range s.samplings {
		if s.isWide(i) != on.systemWide || s.only != nil && !slices.Contains(s.only, i) {
			continue
		}
		if err := s.openSampling(cpu, i, on); err != nil {
			return err
		}
	}
	return nil
}

// attachSystemWide opens the samplings that watch the whole system.
func (s *Session) attachSystemWide() error {
	if !s.hasWide() {
		return nil
	}
	return s.openEverywhere(subject{pid: -1, samples: true, systemWide: true})
}

func (s *Session) attachSystem() error {
	if err := s.fitsFiles("the system", 1); err != nil {
		return err
	}
	if err := s.openEverywhere(subject{pid: -1, sideBand: true, samples: true}); err != nil {
		return err
	}
	return s.attachSystemWide()
}

// attachCgroup opens the samplings on the cgroup and the side-band on the whole system. A
// cgroup's event records only while the cgroup runs, so it misses the mappings that a
// process made before it was moved into the cgroup.
func (s *Session) attachCgroup() error {
	dir, err := os.Open(s.target.cgroup)
	if err != nil {
		return &OpenError{Target: s.target.String(), Kind: ErrNoTarget, Err: err, Hint: "the path of a cgroup's directory is wanted"}
	}
	defer dir.Close()
	if err := s.fitsFiles("the cgroup", 1); err != nil {
		return err
	}
	if err := s.openEverywhere(subject{pid: -1, sideBand: true}); err != nil {
		return err
	}
	s.watched = append(s.watched, watched{path: s.target.cgroup, pidfd: -1})
	if err := s.openEverywhere(subject{pid: int(dir.Fd()), flags: unix.PERF_FLAG_PID_CGROUP, samples: true}); err != nil {
		return err
	}
	return s.attachSystemWide()
}

// maxPasses bounds how often the list of threads is read. A program that starts threads all
// the time shows new ones at each pass. After a few passes, all new ones descend from threads
// whose events are open.
const maxPasses = 64

// quietPasses is how many lists in a row must show no new thread if each may be incomplete.
const quietPasses = 16

// When the list shows no new thread, openThreads waits for births under way and reads the list
// again, settlings times. A birth takes about ten microseconds, or longer on a busy CPU.
const (
	settlings = 4
	settling  = time.Millisecond
)

// errThreadChurn: threads come and go faster than events can be opened.
var errThreadChurn = errors.New("threads come and go faster than events can be opened")

// attachThreads is openThreads, but logs a warning instead of returning errThreadChurn. Some
// threads may then have no events.
func (s *Session) attachThreads() error {
	err := s.openThreads()
	if errors.Is(err, errThreadChurn) {
		s.opts.logger().Warn(err.Error()+"; some may be missed", "target", s.target.String())
		return nil
	}
	return err
}

// openThreads opens the events on every thread of the target's processes. A thread that is
// born meanwhile inherits its creator's events if they were open when its birth began. It
// appears in the list of threads when its birth ends. So openThreads reads the list again
// until a complete one (see listsAll) shows no new thread, and again a while later. A late
// thread gets its own events, and may have inherited ones too: see duplicates.
func (s *Session) openThreads() error {
	seen := make(map[int]bool)
	opened := 0
	if _, err := s.watchDescendants(); err != nil {
		return err
	}
	for pass, quiet, settled := 0, 0, 0; settled <= settlings; pass++ {
		if pass == maxPasses {
			return errThreadChurn
		}
		tids, whole, err := s.newThreads(seen)
		if err != nil {
			return err
		}
		if len(tids) == 0 {
			if quiet++; whole || quiet == quietPasses {
				quiet = 0
				if settled++; settled <= settlings {
					time.Sleep(settling)
				} else if found, err := s.watchDescendants(); err != nil {
					return err
				} else if found {
					settled = 0
				}
			}
			continue
		}
		quiet = 0
		if err := s.fitsFiles(fmt.Sprintf("%d threads", len(tids)), len(tids)); err != nil {
			return err
		}
		for _, tid := range tids {
			err := s.openEverywhere(subject{
				pid: tid, origin: int32(len(seen)), inherit: true, sideBand: true,
				samples: s.target.kind == processTarget || slices.Contains(s.target.pids, tid),
			})
			seen[tid] = true
			if errors.Is(err, unix.ESRCH) {
				continue // it has ended
			}
			if err != nil {
				return err
			}
			opened++
		}
		s.duplicates.ambiguous = pass > 0
	}
	if opened == 0 {
		return s.openError("", nil, unix.ESRCH)
	}
	return nil
}

// newThreads returns the threads of the target's processes that are not in seen. whole is
// false if there may be more.
func (s *Session) newThreads(seen map[int]bool) (found []int, whole bool, err error) {
	whole = true
	listed := make(map[int]bool) // a process that is named twice is listed twice
	for _, w := range s.watched {
		tids, err := host.Threads(w.pid)
		// If a process ends during the read, tids has the threads read before.
		if len(tids) == 0 {
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
				continue // it has ended
			}
			if err != nil {
				return nil, false, fmt.Errorf("list threads of %d: %w", w.pid, err)
			}
		}
		whole = whole && listsAll(w.pid, tids)
		for _, tid := range tids {
			if !seen[tid] && !listed[tid] {
				listed[tid] = true
				found = append(found, tid)
			}
		}
	}
	return found, whole, nil
}

// fileSlack is how many file descriptors are left for the rest of the program.
const fileSlack = 32

// fitsFiles returns ErrTooManyFiles if the events would exceed the limit of file descriptors.
// Each of the subjects has every event on every CPU. target describes the subjects in the
// error.
func (s *Session) fitsFiles(target string, subjects int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of file descriptors: %w", err)
	}
	open, err := os.ReadDir(host.Self("fd"))
	if err != nil {
		return fmt.Errorf("count open files: %w", err)
	}
	events := len(s.samplings)
	if s.only != nil {
		events = len(s.only)
	}
	if s.hasSideBand() {
		events++
	}
	for i := range s.samplings {
		if s.only == nil && s.samplings[i].CountRejected {
			events++
		}
	}
	need := subjects * len(s.cpus) * events
	if uint64(need+len(open)+fileSlack) <= limit.Cur {
		return nil
	}
	if len(s.cpus) > 1 || s.cpus[0] != anyCPU {
		target += fmt.Sprintf(" on %d CPUs", len(s.cpus))
	}
	hint := fmt.Sprintf("%s with %d events each: %d file descriptors are needed beside %d for other files, the limit is %d: raise it (ulimit -n %d)",
		target, events, need, len(open)+fileSlack, limit.Cur, need+len(open)+fileSlack)
	if subjects > 1 && !s.counting {
		hint += ", or give the privileges to watch the whole system"
	}
	return &OpenError{Target: s.target.String(), Kind: ErrTooManyFiles, Err: unix.EMFILE, Hint: hint}
}

// attachFiltered watches the whole system instead of the target's threads, and logs reason.
// It needs privileges; without them it returns reason.
func (s *Session) attachFiltered(reason error) error {
	if err := s.detach(); err != nil {
		return err
	}
	s.rings = make([]mappedRing, len(s.cpus))
	s.duplicates.ambiguous = false
	err := s.attachSystemFiltered()
	if errors.Is(err, ErrPermission) {
		return reason
	}
	if err != nil {
		return err
	}
	s.opts.logger().Warn("watching the whole system and leaving out the others", "target", s.target.String(), "reason", reason)
	return nil
}

// attachSystemFiltered opens the events on the whole system, and makes the session drop the
// records of other processes.
func (s *Session) attachSystemFiltered() error {
	if err := s.attachSystem(); err != nil {
		return err
	}
	// /proc lists the descendants born so far, and fork records announce later ones.
	if _, err := s.watchDescendants(); err != nil {
		return err
	}
	s.filter = newPIDFilter(s.target, s.watched, s.samplings)
	return nil
}

// attachOthersToo watches the whole system because sampling's event can't be opened on the
// target's threads. Counters can't drop other processes' hits, so for them it fails.
func (s *Session) attachOthersToo(sampling *Sampling) error {
	reason := &OpenError{Event: sampling.Event.String(), Target: s.target.String(), Kind: ErrNotInherited, Err: ErrNotInherited,
		Hint: "it can watch the whole system"}
	if s.counting {
		return reason
	}
	return s.attachFiltered(reason)
}

// greatestRepeats is how often counters are opened again to find a moment in
// which no thread is born.
const greatestRepeats = 5

// attachUntilClear opens counters again if threads were found late. Such a thread may be
// counted twice, and a count does not show which hits to subtract.
func (s *Session) attachUntilClear() error {
	for range greatestRepeats {
		if !s.duplicates.ambiguous {
			return nil
		}
		if err := errors.Join(s.detach(), s.attachThreads()); err != nil {
			return err
		}
	}
	if s.duplicates.ambiguous {
		s.opts.logger().Warn("threads are born faster than counters can be opened; some may be counted twice", "target", s.target.String())
	}
	return nil
}

// Joined holds the events that Join opened on one more process. They write to the session's
// rings.
type Joined struct {
	events []attached
	closed sync.Once
}

// Join opens the samplings of a session with Options.ExternalReader on another process: on its
// threads, and on the threads and children that they create. The new events are enabled. Events
// does not return their ids. The session must not be closed while Join runs.
func (s *Session) Join(pid int) (*Joined, error) {
	o := &Session{target: Process(pid), samplings: s.samplings, opts: s.opts, cpus: s.cpus, rings: s.rings,
		format: s.format, dropped: s.dropped, swapped: s.swapped, ringSize: s.ringSize,
		watched: []watched{{pid: pid, tid: pid, pidfd: -1}}}
	err := o.attachThreads()
	for range 2 { // as control does
		if err == nil {
			err = o.controlEvents(o.events, unix.PERF_EVENT_IOC_ENABLE)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch process %d too: %w", pid, err), closeEvents(o.events))
	}
	return &Joined{events: o.events}, nil
}

// Close closes the events. Later calls do nothing.
func (j *Joined) Close() (err error) {
	j.closed.Do(func() { err = closeEvents(j.events) })
	return err
}
