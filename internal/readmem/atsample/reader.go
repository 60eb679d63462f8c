package atsample

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/perfevent"
)

// maxReadings is the most readings that are kept for callers who have not asked for them yet.
const maxReadings = 1 << 16

// readingTTL is how long a reading is kept after its sample.
const readingTTL = 10 * time.Second

// readingTimeout is how long after a sample At waits for its reading.
const readingTimeout = 2 * time.Second

// Calls is what was read at one sample: the calls of interpreted code in the thread, and its stacks past the copy.
type Calls struct {
	Kind   helper.Certainty // None: Chains is empty
	Chains []Chain
	Beyond callchain.Beyond // the stack past its copy; only if Kind is Exact
	// Others are the stacks that the thread's stack switches to, and Goroutines are those that own Go's
	// stacks. Both are set only if Kind is Exact.
	Others     []callchain.Stretch
	Goroutines []Goroutine
	Early      bool // the sample came before its process was watched
	gaveUp     bool // Beyond is not read at this sampling any more: see maxInexact
}

// A Reader reads the memory of the threads that a session samples. It starts the helper when the first process is
// watched. The goroutine of the sink asks for readings, while other goroutines store them and write notes.
type Reader struct {
	session        *perfevent.Session
	share          float64       // of each CPU, that the helper may use; 0: no samples are visited
	offCPU         *offCPUReader // nil: no samples start a wait
	log            *slog.Logger
	maxWakeupEvery atomic.Uint32 // the largest wakeupEvery so far, for Notes

	watches        sync.WaitGroup // running watchInHelper
	mu             sync.Mutex     // guards the fields below
	changed        *sync.Cond     // signals a change of completeBefore or ended
	child          *helper.Reader // nil: not started yet
	childPIDs      []uint32       // of all helpers, also those that have ended
	stopRead       func()         // stops the goroutine that reads from child
	attachCount    int            // processes that child attached to
	endedLimit     int            // maxEnded, or less in tests
	memoryLimit    uint64         // maxHelperBytes, or less in tests
	watched        map[int]*watchedProcess
	readings       map[sampleKey]Calls
	completeBefore uint64 // the helper has sent all readings of samples before this time
	sweptAt        uint64 // when sweep ran last
	ended          bool   // the helper has ended: no more readings come
	cause          error  // why calls are missing
	closed         bool
}

// watchedProcess is a process whose samples the helper visits.
type watchedProcess struct {
	process     *process.Process
	namers      namers          // nil: no interpreters
	requests    []request       // reqAttach, reqDeepStacks, reqSwitchToGo and reqSwitchToC, each once
	requestedAt uint64          // when one of the last three was made last
	marks       map[uint64]bool // addresses sent with reqMarkEnd and reqMarkDead since requestedAt
	deadMarked  bool            // reqMarkDead was sent
	deadRefuted bool            // a stack was cut although it was read to its end: reqMarkDead is wrong for it, and not sent any more
	readSince   uint64          // when the helper started to watch it; 0: not yet
	inexact     map[int]int     // readings of deep stacks in a row that were not exact, by sampling
}

// sampleKey identifies a sample.
type sampleKey struct {
	cpu, tid uint32
	time     uint64
}

// New returns a Reader for the session's samples. frequency is how many of them a helper visits per second on
// each CPU, and must be 0 if it visits none. If it is not 0, the session must be as helper.FollowSession requires.
// switched tells which samples start a wait: their threads are read without the helper. It is nil if no
// sample does. The caller must close the Reader before the session.
func New(session *perfevent.Session, frequency uint64, switched SwitchFunc, log *slog.Logger) *Reader {
	r := &Reader{session: session, log: log, endedLimit: maxEnded, memoryLimit: maxHelperBytes, watched: make(map[int]*watchedProcess), readings: make(map[sampleKey]Calls)}
	if frequency > 0 {
		r.share = max(minShare, min(maxShare, float64(frequency)*visitCost))
	}
	if switched != nil {
		if r.offCPU, r.cause = newOffCPUReader(session, switched); r.offCPU != nil {
			go r.offCPU.run()
		}
	}
	r.changed = sync.NewCond(&r.mu)
	return r
}

// addReading stores a reading of the helper for At. It runs on the goroutine that reads from child.
func (r *Reader) addReading(child *helper.Reader, tables *pageTables, reading *helper.Reading) error {
	c := Calls{Kind: reading.Certainty}
	var stacks stackParts
	if c.Kind == helper.None {
		r.log.Debug("nothing was read of a thread", "tid", reading.TID, "reason", reading.Reason)
	} else {
		chains, rest, ok := decodeChains(reading.Data)
		var isDecoded bool
		if stacks, isDecoded = tables.decode(reading.CPU, rest); !isDecoded {
			if err := child.Send(request{kind: reqResendPages}.encode()); err != nil {
				return err
			}
		}
		switch {
		case !ok:
			c = Calls{}
		case c.Kind == helper.Exact:
			c.Chains, c.Beyond, c.Others, c.Goroutines = chains, stacks.beyond, stacks.others, stacks.goroutines
		default:
			c.Chains = chains
		}
	}
	var namers namers
	defer func() { namers.nameCalls(c.Chains) }()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.readings) >= maxReadings {
		clear(r.readings)
	}
	r.readings[sampleKey{uint32(reading.CPU), reading.TID, reading.Time}] = c
	if w := r.watched[int(reading.PID)]; w != nil {
		namers = w.namers
		if !stacks.beyond.Empty() || len(stacks.others) > 0 {
			r.countInexact(w, reading.Sampling, c.Kind == helper.Exact)
		}
	}
	return nil
}

// advance is helper.Options.Progress of the child.
func (r *Reader) advance(before uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.completeBefore = before
	if now := perfevent.Now(); now > r.sweptAt+uint64(time.Second) {
		r.sweptAt = now
		r.sweep()
	}
	r.changed.Broadcast()
}

// At returns what was read at sample s. It returns each reading once. It blocks until the reading has come, or
// readingTimeout after the sample.
func (r *Reader) At(s *perfevent.Sample) Calls {
	if r.offCPU != nil {
		if leaves, _ := r.offCPU.switched(s); leaves {
			return r.offCPU.callsAt(s)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.watched[int(s.PID)]
	if w == nil {
		return r.take(s)
	}
	if w.readSince == 0 || s.Time < w.readSince {
		return Calls{Early: true}
	}
	for !r.ended && w.readSince > 0 && r.completeBefore <= s.Time && perfevent.Now() < s.Time+uint64(readingTimeout) {
		r.changed.Wait()
	}
	c := r.take(s)
	c.gaveUp = w.inexact[s.Sampling] >= maxInexact
	return c
}

// take removes the reading of s and returns it, or zero Calls if there is none. r.mu is held.
func (r *Reader) take(s *perfevent.Sample) Calls {
	key := sampleKey{s.CPU, s.TID, s.Time}
	c := r.readings[key]
	delete(r.readings, key)
	return c
}

// err returns why calls are missing, or nil.
func (r *Reader) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cause
}

// Close ends the helper and the off-CPU reader. The session must still be open.
func (r *Reader) Close() (err error) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.watches.Wait()
	if r.offCPU != nil {
		err = r.offCPU.close()
	}
	if r.child == nil {
		return err
	}
	r.stopRead()
	return errors.Join(err, r.child.Close())
}
