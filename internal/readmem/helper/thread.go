package helper

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

// thread reads the ring of one CPU in the child, on an OS thread that is pinned to that CPU. All
// methods but mapSessionRing run on that OS thread. After detach they must not allocate, lock, or
// make system calls other than raw ones.
type thread struct {
	setup    *childSetup
	file     perfevent.RingFile
	cpu      int // that the thread is pinned to: that of the ring, except in a test
	ring     *perfevent.CPURing
	epoll    int
	noEvents int // an epoll descriptor that waits for nothing
	event    unix.EpollEvent
	decoder  *perfevent.Decoder
	session  *sessionRing // has the samples; nil if ring has them
	shared   sharedRing
	visitor  Visitor
	visit    Visit
	clock    *clock
	limit    cpuLimit
	class    SchedClass

	// A visit is pending from its end until the thread has read what follows its sample. Its
	// entry in the shared ring is reserved and not yet committed.
	pending       *entry
	pendingSample *perfevent.Sample
	pendingBytes  int // used after the entry

	lostSince uint64 // switches since this time may be missing in the shared ring; 0 if none are
}

// maxWait is how long a thread waits for a sample. Then it reads its ring anyway, because
// readings of other CPUs are not classified before this CPU's switches are known.
const maxWait = 20 * time.Millisecond

// newThread allocates everything that a thread needs, and maps its rings.
func newThread(setup *childSetup, file perfevent.RingFile, visitor Visitor, shared sharedRing) (*thread, error) {
	t := &thread{setup: setup, file: file, cpu: file.CPU, visitor: visitor, shared: shared, clock: newClock()}
	t.visit.clock = t.clock
	var err error
	if t.ring, err = perfevent.MapRing(file); err != nil {
		return nil, err
	}
	if t.decoder, err = perfevent.NewDecoder(setup.Events); err != nil {
		return nil, err
	}
	for _, epoll := range []*int{&t.epoll, &t.noEvents} {
		if *epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			return nil, fmt.Errorf("create epoll: %w", err)
		}
	}
	// Edge-triggered, because a ring whose event's thread has ended reports EPOLLHUP forever. A
	// real-time thread in ppoll(2) was seen to spin on that for as long as the kernel let it.
	err = unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, file.FD, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET})
	if err != nil {
		return nil, fmt.Errorf("add to epoll: %w", err)
	}
	if err := t.mapSessionRing(); err != nil {
		return nil, err
	}
	if setup.WrongCPU {
		t.cpu = setup.Rings[(slices.Index(setup.Rings, file)+1)%len(setup.Rings)].CPU
	}
	return t, nil
}

// run reads the rings until the process ends. It calls ready before it starts.
func (t *thread) run(ready func()) {
	runtime.LockOSThread()
	t.class = setSchedClass(t.cpu, t.setup.MaxClass)
	atomic.StoreUint64(&t.shared.class, uint64(t.class))
	t.limit = newCPULimit(t.setup.Share, t.clock.now(), threadCPUTime())
	ready()
	detach()
	for {
		t.wait()
		t.read()
	}
}

// wait returns when a sample has arrived, or after maxWait. During a pause it always waits for
// maxWait.
func (t *thread) wait() {
	epoll := t.epoll
	if t.limit.paused {
		epoll = t.noEvents
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&t.event)), 1, uintptr(maxWait.Milliseconds()), 0, 0)
}

// updateLimit charges the CPU time that the thread has used, and starts or ends a pause. It also
// pins the thread again if its CPU was offline.
func (t *thread) updateLimit() {
	now, cpu := t.clock.now(), threadCPUTime()
	c := &t.shared.counts
	atomic.StoreUint64(&c.CPUTime, cpu)
	was := t.limit.paused
	switch paused := t.limit.update(now, cpu); {
	case paused && !was:
		if atomic.AddUint64(&c.Pauses, 1) == 1 {
			atomic.StoreUint64(&c.FirstPaused, now)
		}
		atomic.StoreUint64(&t.shared.pausedSince, now)
	case was && !paused:
		atomic.AddUint64(&c.PausedTime, now-atomic.LoadUint64(&t.shared.pausedSince))
		atomic.StoreUint64(&t.shared.pausedSince, 0)
	}
	if t.class != Unpinned && !isOnCPU(t.cpu) {
		pin(t.cpu) // the CPU may be online again
	}
}

// read reads the rings until they are empty, visits the samples, and publishes the thread's
// progress. It stops early if the thread must pause.
func (t *thread) read() {
	for {
		now := t.clock.now()
		t.readSessionRing()
		empty := t.drainRing() == 0
		if empty {
			t.finishVisit(noSwitch, 0)
		}
		if t.pending == nil {
			t.ring.Release()
		}
		t.updateLimit()
		if empty || t.limit.paused {
			t.finishVisit(noSwitch, 0)
			t.publishProgress(now)
			return
		}
	}
}

// drainRing handles the records that are in the thread's own ring, and returns how many there
// were. That no switch is among them proves that there was none only if all records fit in the
// ring and are well-formed. Otherwise drainRing notes that switches are lost.
func (t *thread) drainRing() (records int) {
	t.ring.Look()
	malformed := t.ring.Malformed()
	for b := t.ring.Next(); b != nil; b = t.ring.Next() {
		records++
		switch record, err := t.decoder.Decode(b); err {
		case nil:
			t.handle(record)
		case perfevent.ErrUnknownRecord:
		default:
			t.noteLost()
		}
	}
	if t.ring.Missing() || t.ring.Malformed() > malformed {
		t.noteLost()
	}
	return records
}

// publishProgress tells the caller that all switches before now are in the shared ring, or are
// covered by an entry that says since when they may be missing.
func (t *thread) publishProgress(now uint64) {
	if t.class == Unpinned {
		now -= uint64(time.Millisecond) // the kernel may be writing a record on the CPU right now
	}
	if t.lostSince != 0 && !t.publish(lostEntry, t.lostSince, t.clock.now(), 0) {
		return
	}
	t.lostSince = 0
	atomic.StoreUint64(&t.shared.progress, now)
	atomic.StoreUint64(&t.shared.counts.malformed, t.ring.Malformed())
}

// handle handles a record of the thread's own ring.
func (t *thread) handle(record perfevent.Record) {
	switch r := record.(type) {
	case *perfevent.Sample:
		switch {
		case t.isUnrelated(r.TID, r.Time):
		case r.Sampling != t.setup.SwitchSampling:
			t.finishVisit(noSwitch, 0)
			t.visitSample(r)
		case t.pending != nil && r.TID == t.pending.tid:
			t.finishVisit(compareRegisters(t.pendingSample, r, t.setup.Contexts[t.pendingSample.Sampling]), r.Time)
		default:
			t.finishVisit(noSwitch, 0)
		}
	case *perfevent.Switch:
		if !r.Out {
			if !t.isUnrelated(r.TID, r.Time) {
				t.finishVisit(noSwitch, 0)
			}
			t.addSwitchIn(r.Time, r.TID)
		}
	case *perfevent.Lost:
		t.finishVisit(noSwitch, 0)
		atomic.AddUint64(&t.shared.counts.lost, r.Lost)
		t.noteLost()
	}
}

// visitSample visits the thread of a sample, unless the sample is to be skipped. The visit is
// pending after that.
func (t *thread) visitSample(s *perfevent.Sample) {
	c := &t.shared.counts
	if filter, ok := t.visitor.(SampleFilter); ok && !filter.Accepts(s) {
		return
	}
	atomic.AddUint64(&c.samples, 1)
	if slices.Contains(t.setup.SkipPIDs, s.PID) {
		atomic.AddUint64(&c.ownProcesses, 1)
		return
	}
	if t.limit.paused {
		atomic.AddUint64(&c.whilePaused, 1)
		return
	}
	registers := s.Regs.Values
	if t.session != nil {
		registers = nil // the caller reads the sample itself
	}
	e, room := t.shared.reserve(8*len(registers) + t.setup.VisitBytes)
	if e == nil {
		atomic.AddUint64(&c.noSpace, 1)
		return
	}
	began := t.clock.now()
	e.kind, e.pid, e.tid, e.time, e.ip, e.began = visitEntry, s.PID, s.TID, s.Time, s.IP, began
	e.sampling, e.regs = uint16(s.Sampling), uint16(len(registers))
	e.abi = uint8(s.Regs.ABI)
	words, room := splitWords(room, len(registers))
	copy(words, registers)
	switch {
	case t.class != Unpinned && !isOnCPU(t.cpu):
		e.reason = CPUOffline
	case isRealTime(s.TID):
		e.reason = RealTime
	default:
		atomic.StoreUint64(&t.shared.visitBegan, began)
		t.visit.begin(s, room, began+uint64(t.setup.VisitTime))
		e.reason = reasonOf(t.visitor.Visit(&t.visit))
		atomic.StoreUint64(&t.shared.visitBegan, 0)
		e.data = uint32(len(t.visit.kept))
		atomic.AddUint64(&c.visits, 1)
	}
	e.ended = t.clock.now()
	atomic.AddUint64(&c.visitTime, e.ended-began)
	t.pending, t.pendingSample, t.pendingBytes = e, s, 8*len(registers)+int(e.data)
}

// finishVisit writes the pending visit to the shared ring, if there is one. next says what
// follows its sample, and switchedOut is the time of the switch away from the thread.
func (t *thread) finishVisit(next nextSwitch, switchedOut uint64) {
	if t.pending == nil {
		return
	}
	t.pending.next, t.pending.switchedOut = next, switchedOut
	t.shared.commit(t.pending, t.pendingBytes)
	t.pending, t.pendingSample = nil, nil
	t.publishDelayed()
}

// noteLost notes that switches since the last progress may be missing.
func (t *thread) noteLost() {
	if t.lostSince == 0 {
		t.lostSince = max(1, atomic.LoadUint64(&t.shared.progress))
	}
}

// publish writes an entry that is no visit to the shared ring. It returns false if the ring is
// full. No visit may be pending, because its entry would be discarded.
func (t *thread) publish(kind entryKind, time, ended uint64, tid uint32) bool {
	e, _ := t.shared.reserve(0)
	if e == nil {
		return false
	}
	e.kind, e.time, e.ended, e.tid = kind, time, ended, tid
	t.shared.commit(e, 0)
	return true
}
