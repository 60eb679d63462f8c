package near

import (
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// Registers are the Sampling.UserRegs by which the witness knows most.
const Registers = allRegisters

// StartBeside has the samples of a session visited while that is read as ever: each Reading is
// of the sample with the same CPU, thread and time. The session has Options.Shared. Those of its
// samplings are visited that have Sampling.Soon, and user registers by which the witness tells
// whether the thread ran on. Visitors that are Choosers spare others' samples.
//
// Where a sampling wakes at some of its samples only (Session.WakeEvery), those are visited that
// wake, and no others.
//
// Only of processes that are watched (pid, and those of Watch) can readings be Exact.
func StartBeside(session *perfevent.Session, pid int, visitor string, config []byte, opts Options) (*Reader, error) {
	if os.Getenv(variable) != "" {
		return nil, errors.New("start the near reader: the program's main function does not call Serve")
	}
	changes, events := session.Changes(), session.Events()
	registers, places := uint64(0), make([]place, len(events))
	for i, e := range events {
		if isSoon(e) {
			registers |= e.Attr.Sample_regs_user
		}
		places[i] = placeOf(e.Attr.Type == unix.PERF_TYPE_TRACEPOINT, e.UserProbe)
	}
	witness := []perfevent.Sampling{{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1,
		UserRegs: registers}}
	own, err := openWitness(perfevent.Process(pid), witness, opts)
	if err != nil {
		return nil, err
	}
	o := order{Visitor: visitor, Config: config, Highest: FIFO, Skip: []uint32{uint32(os.Getpid())},
		Events: own.Events(), Rings: own.RingFiles(), Places: places,
		BesideEvents: events, Beside: session.RingFiles()}
	o.bound(opts)
	err = session.LetFollow()
	var r *Reader
	if err == nil {
		r, err = start(o)
	}
	if err == nil {
		r.session, r.round, r.joined.first = own, opts.Round, pid
		r.followed, r.changes = session, changes
		err = own.Enable()
	}
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return r, nil
}

// isSoon tells whether an event was opened with Sampling.Soon.
func isSoon(e perfevent.EventAttr) bool {
	return e.Attr.Sample_type&unix.PERF_SAMPLE_REGS_USER != 0 && e.Attr.Bits&unix.PerfBitWatermark == 0
}

// openWitness opens samplings of which the last is the witness.
func openWitness(target perfevent.Target, all []perfevent.Sampling, opts Options) (*perfevent.Session, error) {
	without, err := perfevent.NohzFullCPUs()
	if err != nil {
		return nil, err
	}
	rings := perfevent.Options{RingBytes: ringBytes, SideBand: perfevent.SideBandNames, Switches: new(perfevent.Switches),
		HandOver: true, Without: without, Logger: opts.Logger}
	session, err := perfevent.Open(target, all, rings)
	if errors.Is(err, perfevent.ErrKernelExcluded) {
		// Then no switch is seen and none is exact. The error is for the samplings' own.
		all[len(all)-1].ExcludeKernel = true
		session, err = perfevent.Open(target, all, rings)
	}
	return session, err
}

// joined are the processes that a Reader watches besides its target.
type joined struct {
	mu     sync.Mutex
	first  int // the process that the session was opened on, 0 once it has ended
	by     map[int]*perfevent.Joined
	closed bool
}

// Watch has a process more watched, so that its readings can be Exact. It may be called from
// any goroutine, and takes a few milliseconds.
func (r *Reader) Watch(pid int) error {
	j := &r.joined
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.first == pid || j.by[pid] != nil {
		return nil
	}
	events, err := r.session.Join(pid)
	if err != nil {
		return err
	}
	if j.by == nil {
		j.by = make(map[int]*perfevent.Joined)
	}
	j.by[pid] = events
	return nil
}

// Unwatch ends what Watch has begun, once the process has ended.
func (r *Reader) Unwatch(pid int) error {
	j := &r.joined
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.first == pid {
		j.first = 0
	}
	events := j.by[pid]
	if events == nil {
		return nil
	}
	delete(j.by, pid)
	return events.Close()
}

func (j *joined) close() (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, events := range j.by {
		err = errors.Join(err, events.Close())
	}
	j.closed = true
	return err
}

// Tell tells the visitors something that they did not know when they were made: see Hearer. It
// may be called from any goroutine.
func (r *Reader) Tell(news []byte) error { return r.tell(&message{News: news}) }

// follow tells the helper which events the session has that it follows, once they are others.
func (r *Reader) follow() error {
	if r.followed == nil {
		return nil
	}
	changes := r.followed.Changes()
	if changes == r.changes {
		return nil
	}
	r.changes = changes
	return r.tell(&message{Events: r.followed.Events()})
}

func (r *Reader) tell(m *message) error {
	r.helper.telling.Lock()
	defer r.helper.telling.Unlock()
	if err := r.helper.orders.Encode(m); err != nil {
		return fmt.Errorf("tell the near reader: %w", err)
	}
	r.helper.told++
	return nil
}

// hearEvery is how often Heard looks.
const hearEvery = 200 * time.Microsecond

// Heard waits until the visitors have heard all that Tell has told them so far, as long as the helper
// runs, and no longer than that. It reports false if they have not.
func (r *Reader) Heard(within time.Duration) bool {
	tick := time.NewTicker(hearEvery)
	defer tick.Stop()
	told, _ := r.helper.heard()
	for end := time.Now().Add(within); ; {
		switch _, heard := r.helper.heard(); {
		case heard >= told:
			return true
		case time.Now().After(end):
			return false
		}
		select {
		case <-r.helper.ended:
			return false
		case <-tick.C:
		}
	}
}

// heard is how many messages the helper was told, and how many of them its visitors have heard.
func (h *helper) heard() (told, heard uint64) {
	h.telling.Lock()
	defer h.telling.Unlock()
	if h.outs != nil {
		heard = atomic.LoadUint64(&h.outs[0].heard)
	}
	return h.told, heard
}

// message is what a helper is told after its order: one of the two.
type message struct {
	News   []byte
	Events []perfevent.EventAttr // of the session beside
}

// listen hands on what the caller tells, until it has ended, however that came about.
func listen(in *gob.Decoder, threads []*thread) {
	for {
		var m message
		if in.Decode(&m) != nil {
			return
		}
		for _, t := range threads {
			hearer, ok := t.visitor.(Hearer)
			switch {
			case m.Events != nil && t.beside != nil:
				if events, err := newFollowed(m.Events); err == nil {
					t.beside.next.Store(events)
				}
			case m.Events == nil && ok:
				hearer.Hear(m.News)
			}
		}
		atomic.AddUint64(&threads[0].out.heard, 1)
	}
}

// follower is the ring of the caller's session on a thread's CPU.
type follower struct {
	ring *perfevent.CPURing
	*followed
	next atomic.Pointer[followed] // that takes over; nil: nothing has changed
	held []in                     // switches that were seen while a visit waited, which has the handover
}

// followed is the events of that session.
type followed struct {
	events  []perfevent.EventAttr
	decoder *perfevent.Decoder
	thinned bool // not each sample wakes
}

func newFollowed(events []perfevent.EventAttr) (*followed, error) {
	f := &followed{events: events}
	for _, e := range events {
		f.thinned = f.thinned || isSoon(e) && e.Attr.Wakeup > 1
	}
	var err error
	f.decoder, err = perfevent.NewDecoder(events)
	return f, err
}

// mostHeld bounds them. There are more only where the thread was late.
const mostHeld = 1 << 12

// followBeside prepares the ring beside a thread's own, if there is one on its CPU.
func (t *thread) followBeside() error {
	for _, file := range t.order.Beside {
		if file.CPU != t.file.CPU {
			continue
		}
		ring, err := perfevent.MapRing(file)
		if err != nil {
			return err
		}
		ring.Follow()
		events, err := newFollowed(t.order.BesideEvents)
		if err != nil {
			return err
		}
		t.beside = &follower{ring: ring, followed: events, held: make([]in, 0, mostHeld)}
		err = unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, file.FD, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET})
		if err != nil {
			return fmt.Errorf("add to epoll: %w", err)
		}
	}
	return nil
}

// readBeside visits the threads of the samples in the ring beside. They come before the
// thread's own records, which may be many: what happened before a sample is told by its time.
func (t *thread) readBeside() {
	b := t.beside
	if b == nil {
		return
	}
	if next := b.next.Swap(nil); next != nil {
		b.followed = next
	}
	ring := b.ring
	ring.Look()
	var last []byte
	for r := ring.Next(); r != nil; r = ring.Next() {
		switch {
		case binary.LittleEndian.Uint32(r) != unix.PERF_RECORD_SAMPLE:
		case b.thinned:
			last = r // the others did not wake
		default:
			t.lookBeside(r)
		}
	}
	if last != nil {
		t.lookBeside(last)
	}
}

// lookBeside visits the thread of a sample in the ring beside.
func (t *thread) lookBeside(record []byte) {
	if t.open != nil { // it is late
		t.drain()
		t.close(nothingFollows, 0)
	}
	b := t.beside
	decoded, err := b.decoder.Decode(record)
	if err != nil {
		return
	}
	sample, ok := decoded.(*perfevent.Sample)
	if !ok || !isSoon(b.events[sample.Sampling]) || b.thinned && t.clock.now() > sample.Time+uint64(t.order.VisitTime) {
		return
	}
	t.look(sample)
}

// noteIn hands on a switch to a thread, once no visit waits.
func (t *thread) noteIn(at uint64, tid uint32) {
	if t.open == nil {
		t.handIn(at, tid)
		return
	}
	if b := t.beside; len(b.held) < cap(b.held) {
		b.held = append(b.held, in{at, tid})
	} else {
		t.miss()
	}
}

// noteHeld hands on what was held.
func (t *thread) noteHeld() {
	if t.beside == nil {
		return
	}
	for _, s := range t.beside.held {
		t.handIn(s.time, s.tid)
	}
	t.beside.held = t.beside.held[:0]
}

// handIn hands on a switch to a thread, if none before it is missing: all after that may be, too.
func (t *thread) handIn(at uint64, tid uint32) {
	if t.missing == 0 && !t.hand(inEntry, at, 0, tid) {
		t.miss()
	}
}

// isOther tells of a record of the thread's own ring whether it says nothing about the visit that
// waits: that one's sample is in another ring, so that earlier records may come after it.
func (t *thread) isOther(tid uint32, time uint64) bool {
	return t.beside != nil && t.open != nil && (tid != t.open.TID || time < t.sample.Time)
}
