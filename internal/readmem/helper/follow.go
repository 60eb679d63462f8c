package helper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// FollowSession starts a child that visits the samples of a session that the caller reads
// itself. A Reading belongs to the sample with the same CPU, TID and time.
//
// The session must have been opened with perfevent.Options.SharedRings. Samples are visited if their
// sampling has perfevent.Sampling.WakeupEvents and user registers. The more registers a sample has, the
// better the child can tell whether the thread ran on; see Registers. If a sampling wakes its
// reader at every n-th sample only (perfevent.Session.SetWakeupEvents), only those samples are visited.
// A visitor that is a SampleFilter can skip the samples of other processes.
//
// Readings can be Exact only for processes that are watched: pid, and those that were passed to
// Watch. The other arguments and the errors are those of Start.
func FollowSession(session *perfevent.Session, pid int, visitor string, config []byte, opts Options) (*Reader, error) {
	if os.Getenv(childEnv) != "" {
		return nil, errors.New("start the near reader: the program's main function does not call Serve")
	}
	changes, events := session.Changes(), session.Events()
	registers, contexts := uint64(0), make([]sampleContext, len(events))
	for i, e := range events {
		if isVisited(e) {
			registers |= e.Attr.Sample_regs_user
		}
		contexts[i] = sampleContextOf(e.Attr.Type == unix.PERF_TYPE_TRACEPOINT, e.UserProbe)
	}
	switches := []perfevent.Sampling{{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1,
		UserRegs: registers}}
	own, err := openSession(perfevent.Process(pid), switches, opts)
	if err != nil {
		return nil, err
	}
	setup := childSetup{Visitor: visitor, Config: config, MaxClass: FIFO, SkipPIDs: []uint32{uint32(os.Getpid())},
		Events: own.Events(), Rings: own.RingFiles(), Contexts: contexts,
		SessionEvents: events, SessionRings: session.RingFiles()}
	setup.setLimits(opts)
	err = session.LetFollow()
	var r *Reader
	if err == nil {
		r, err = start(setup)
	}
	if err == nil {
		r.session, r.progress, r.watched.target = own, opts.Progress, pid
		r.followed, r.eventChanges = session, changes
		err = own.Enable()
	}
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return r, nil
}

// isVisited reports whether samples of a followed session's event are visited: they wake the
// ring's reader, and carry user registers.
func isVisited(e perfevent.EventAttr) bool {
	return e.Attr.Sample_type&unix.PERF_SAMPLE_REGS_USER != 0 && e.Attr.Bits&unix.PerfBitWatermark == 0
}

// sessionRing is the followed session's ring on a thread's CPU. Only the thread uses it, except
// for newEvents.
type sessionRing struct {
	ring *perfevent.CPURing
	*sessionEvents
	newEvents atomic.Pointer[sessionEvents] // replaces sessionEvents at the next read; nil if there is no change

	// delayed has the switches that the thread read while a visit was pending. It writes them
	// to shared memory after the visit, because a ring has one open entry at a time.
	delayed []switchIn
}

// sessionEvents are the followed session's events.
type sessionEvents struct {
	events      []perfevent.EventAttr
	decoder     *perfevent.Decoder
	wakesAtSome bool // only every n-th sample wakes the reader
}

func newSessionEvents(events []perfevent.EventAttr) (*sessionEvents, error) {
	s := &sessionEvents{events: events}
	for _, e := range events {
		s.wakesAtSome = s.wakesAtSome || isVisited(e) && e.Attr.Wakeup > 1
	}
	var err error
	s.decoder, err = perfevent.NewDecoder(events)
	return s, err
}

// maxDelayed is the capacity of sessionRing.delayed. It is exceeded only if the thread was late.
const maxDelayed = 1 << 12

// mapSessionRing prepares the followed session's ring on the thread's CPU, if there is one.
func (t *thread) mapSessionRing() error {
	for _, file := range t.setup.SessionRings {
		if file.CPU != t.file.CPU {
			continue
		}
		ring, err := perfevent.MapRing(file)
		if err != nil {
			return err
		}
		ring.Follow()
		events, err := newSessionEvents(t.setup.SessionEvents)
		if err != nil {
			return err
		}
		t.session = &sessionRing{ring: ring, sessionEvents: events, delayed: make([]switchIn, 0, maxDelayed)}
		err = unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, file.FD, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET})
		if err != nil {
			return fmt.Errorf("add to epoll: %w", err)
		}
	}
	return nil
}

// readSessionRing visits the samples in the followed session's ring. The thread does that before
// it reads its own ring, where many records may wait, because the visit is urgent. isUnrelated
// later sorts out the records that are older than the sample.
func (t *thread) readSessionRing() {
	s := t.session
	if s == nil {
		return
	}
	if events := s.newEvents.Swap(nil); events != nil {
		s.sessionEvents = events
	}
	ring := s.ring
	ring.Look()
	var last []byte
	for record := ring.Next(); record != nil; record = ring.Next() {
		switch {
		case binary.LittleEndian.Uint32(record) != unix.PERF_RECORD_SAMPLE:
		case s.wakesAtSome:
			last = record // the samples before it did not wake the thread
		default:
			t.visitSessionSample(record)
		}
	}
	if last != nil {
		t.visitSessionSample(last)
	}
}

// visitSessionSample visits the sample that a record of the followed session's ring holds.
func (t *thread) visitSessionSample(record []byte) {
	if t.pending != nil { // two samples at one wake-up: the thread is late
		t.drainRing()
		t.finishVisit(noSwitch, 0)
	}
	s := t.session
	decoded, err := s.decoder.Decode(record)
	if err != nil {
		return
	}
	sample, ok := decoded.(*perfevent.Sample)
	if !ok || !isVisited(s.events[sample.Sampling]) || s.wakesAtSome && t.clock.now() > sample.Time+uint64(t.setup.VisitTime) {
		return
	}
	t.visitSample(sample)
}

// addSwitchIn publishes a switch to the thread tid at a time, or delays that until no visit is
// pending.
func (t *thread) addSwitchIn(time uint64, tid uint32) {
	if t.pending == nil {
		t.publishSwitchIn(time, tid)
		return
	}
	if s := t.session; len(s.delayed) < cap(s.delayed) {
		s.delayed = append(s.delayed, switchIn{time, tid})
	} else {
		t.noteLost()
	}
}

// publishDelayed publishes the switches that addSwitchIn delayed.
func (t *thread) publishDelayed() {
	if t.session == nil {
		return
	}
	for _, s := range t.session.delayed {
		t.publishSwitchIn(s.time, s.tid)
	}
	t.session.delayed = t.session.delayed[:0]
}

// publishSwitchIn writes a switch to shared memory. It does not if an earlier one is missing
// there: the next publishProgress marks the whole time since then.
func (t *thread) publishSwitchIn(time uint64, tid uint32) {
	if t.lostSince == 0 && !t.publish(switchInEntry, time, 0, tid) {
		t.noteLost()
	}
}

// isUnrelated reports whether a record of the thread's own ring says nothing about the pending
// visit. That happens only if the sample came from the followed session's ring: the own ring may
// then hold older records, and records of other threads.
func (t *thread) isUnrelated(tid uint32, time uint64) bool {
	return t.session != nil && t.pending != nil && (tid != t.pending.tid || time < t.pendingSample.Time)
}
