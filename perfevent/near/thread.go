package near

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// thread reads the ring of one CPU on that CPU.
type thread struct {
	order   *order
	file    perfevent.RingFile
	cpu     int // that it is pinned to: that of the ring, but for a test
	ring    *perfevent.CPURing
	epoll   int
	never   int // an epoll descriptor without events
	event   unix.EpollEvent
	decoder *perfevent.Decoder
	beside  *follower // the ring that has the samples; nil: ring has them
	out     handover
	visitor Visitor
	visit   Visit
	clock   *clock
	share   share
	rung    Rung

	open    *entry            // a visit that waits for what follows its sample
	sample  *perfevent.Sample // of that visit
	used    int               // bytes behind the entry
	missing uint64            // since when switches may be missing in the handover, or 0
}

// idle is how long a thread waits for a sample. Then it reads on, so that verdicts of other
// CPUs need not wait for its switches.
const idle = 20 * time.Millisecond

// newThread prepares all that takes memory.
func newThread(o *order, file perfevent.RingFile, visitor Visitor, out handover) (*thread, error) {
	t := &thread{order: o, file: file, cpu: file.CPU, visitor: visitor, out: out, clock: newClock()}
	t.visit.clock = t.clock
	var err error
	if t.ring, err = perfevent.MapRing(file); err != nil {
		return nil, err
	}
	if t.decoder, err = perfevent.NewDecoder(o.Events); err != nil {
		return nil, err
	}
	for _, epoll := range []*int{&t.epoll, &t.never} {
		if *epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			return nil, fmt.Errorf("create epoll: %w", err)
		}
	}
	// Edges only: a ring whose owner's thread has ended is in a hang-up for ever, for which
	// a real-time thread in ppoll(2) was seen to spin for all the time that the kernel let it.
	err = unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, file.FD, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET})
	if err != nil {
		return nil, fmt.Errorf("add to epoll: %w", err)
	}
	if err := t.followBeside(); err != nil {
		return nil, err
	}
	if o.Elsewhere {
		t.cpu = o.Rings[(slices.Index(o.Rings, file)+1)%len(o.Rings)].CPU
	}
	return t, nil
}

// run reads until the process ends. It says when it is about to.
func (t *thread) run(ready func()) {
	runtime.LockOSThread()
	t.rung = climb(t.cpu, t.order.Highest)
	atomic.StoreUint64(&t.out.rung, uint64(t.rung))
	t.share = newShare(t.order.Share, t.clock.now(), threadTime())
	ready()
	detach()
	for {
		t.wait()
		t.read()
	}
}

// wait returns when there is a sample, and after idle in any case. While the thread rests it
// waits for nothing else than that.
func (t *thread) wait() {
	epoll := t.epoll
	if t.share.resting {
		epoll = t.never
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&t.event)), 1, uintptr(idle.Milliseconds()), 0, 0)
}

// account notes what the thread used, and rests if that is too much.
func (t *thread) account() {
	now, cpu := t.clock.now(), threadTime()
	c := &t.out.counts
	atomic.StoreUint64(&c.CPUTime, cpu)
	was := t.share.resting
	switch rests := t.share.rests(now, cpu); {
	case rests && !was:
		if atomic.AddUint64(&c.Rests, 1) == 1 {
			atomic.StoreUint64(&c.RestedAt, now)
		}
		atomic.StoreUint64(&t.out.resting, now)
	case was && !rests:
		atomic.AddUint64(&c.RestTime, now-atomic.LoadUint64(&t.out.resting))
		atomic.StoreUint64(&t.out.resting, 0)
	}
	if t.rung != Unpinned && !isOn(t.cpu) {
		pin(t.cpu) // the CPU may be online again
	}
}

// read takes all records of the ring. Where more come while it does, it ends when the thread
// must rest.
func (t *thread) read() {
	for {
		now := t.clock.now()
		t.readBeside()
		all := t.drain() == 0
		if all {
			t.close(nothingFollows, 0)
		}
		if t.open == nil {
			t.ring.Release()
		}
		t.account()
		if all || t.share.resting {
			t.close(nothingFollows, 0)
			t.advance(now)
			return
		}
	}
}

// drain takes the records that are in the ring, and returns how many. That a switch is not among
// them says that there was none only if there was room for every record, and each makes sense.
func (t *thread) drain() (n int) {
	t.ring.Look()
	malformed := t.ring.Malformed()
	for b := t.ring.Next(); b != nil; b = t.ring.Next() {
		n++
		switch record, err := t.decoder.Decode(b); err {
		case nil:
			t.handle(record)
		case perfevent.ErrUnknownRecord:
		default:
			t.miss()
		}
	}
	if t.ring.Missing() || t.ring.Malformed() > malformed {
		t.miss()
	}
	return n
}

// advance says that all switches before a time are in the handover.
func (t *thread) advance(now uint64) {
	if t.rung == Unpinned {
		now -= uint64(time.Millisecond) // a record may be in the making on the CPU
	}
	if t.missing != 0 && !t.hand(gapEntry, t.missing, t.clock.now(), 0) {
		return
	}
	t.missing = 0
	atomic.StoreUint64(&t.out.progress, now)
	atomic.StoreUint64(&t.out.counts.Bad, t.ring.Malformed())
}

func (t *thread) handle(record perfevent.Record) {
	switch r := record.(type) {
	case *perfevent.Sample:
		switch {
		case t.isOther(r.TID, r.Time):
		case r.Sampling != t.order.Witness:
			t.close(nothingFollows, 0)
			t.look(r)
		case t.open != nil && r.TID == t.open.TID:
			t.close(followedBy(t.sample, r, t.order.Places[t.sample.Sampling]), r.Time)
		default:
			t.close(nothingFollows, 0)
		}
	case *perfevent.Switch:
		if !r.Out {
			if !t.isOther(r.TID, r.Time) {
				t.close(nothingFollows, 0)
			}
			t.noteIn(r.Time, r.TID)
		}
	case *perfevent.Lost:
		t.close(nothingFollows, 0)
		atomic.AddUint64(&t.out.counts.Lost, r.Lost)
		t.miss()
	}
}

// look visits the thread of a sample.
func (t *thread) look(s *perfevent.Sample) {
	c := &t.out.counts
	if chooser, ok := t.visitor.(Chooser); ok && !chooser.Wants(s) {
		return
	}
	atomic.AddUint64(&c.Samples, 1)
	if slices.Contains(t.order.Skip, s.PID) {
		atomic.AddUint64(&c.Own, 1)
		return
	}
	if t.share.resting {
		atomic.AddUint64(&c.Rested, 1)
		return
	}
	kept := s.Regs.Values
	if t.beside != nil {
		kept = nil // the caller has them
	}
	registers := 8 * len(kept)
	e, room := t.out.begin(registers + t.order.VisitBytes)
	if e == nil {
		atomic.AddUint64(&c.NoRoom, 1)
		return
	}
	began := t.clock.now()
	e.Kind, e.PID, e.TID, e.Time, e.IP, e.Began = viewEntry, s.PID, s.TID, s.Time, s.IP, began
	e.Sampling, e.Regs = uint16(s.Sampling), uint16(len(kept))
	e.ABI = uint8(s.Regs.ABI)
	words, room := wordsOf(room, len(kept))
	copy(words, kept)
	switch {
	case t.rung != Unpinned && !isOn(t.cpu):
		e.Reason = Moved
	case isRealTime(s.TID):
		e.Reason = RealTime
	default:
		atomic.StoreUint64(&t.out.began, began)
		t.visit.begin(s, room, began+uint64(t.order.VisitTime))
		e.Reason = reasonOf(t.visitor.Visit(&t.visit))
		atomic.StoreUint64(&t.out.began, 0)
		e.Data = uint32(len(t.visit.kept))
		atomic.AddUint64(&c.Visits, 1)
	}
	e.Ended = t.clock.now()
	atomic.AddUint64(&c.Visiting, e.Ended-began)
	t.open, t.sample, t.used = e, s, registers+int(e.Data)
}

// close hands on the visit that waits, with what followed its sample.
func (t *thread) close(f follow, out uint64) {
	if t.open == nil {
		return
	}
	t.open.Follow, t.open.Out = f, out
	t.out.commit(t.open, t.used)
	t.open, t.sample = nil, nil
	t.noteHeld()
}

// miss says that switches may be missing among those of after the last advance.
func (t *thread) miss() {
	if t.missing == 0 {
		t.missing = max(1, atomic.LoadUint64(&t.out.progress))
	}
}

// hand hands on an entry without anything behind it, if there is room.
func (t *thread) hand(kind entryKind, from, to uint64, tid uint32) bool {
	e, _ := t.out.begin(0)
	if e == nil {
		return false
	}
	e.Kind, e.Time, e.Ended, e.TID = kind, from, to, tid
	t.out.commit(e, 0)
	return true
}
