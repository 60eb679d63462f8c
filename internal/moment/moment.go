package moment

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// Bounds of a helper: see near.Options.
const (
	visitBytes = 256 << 10
	// A sample costs the reader of its CPU 20 to 120 µs, the more the fewer there are. It may
	// take twice what is usual, and never more than a tenth of a CPU, but for beyondShare.
	aSample    = 80e-6
	leastShare = 0.02
	mostShare  = 0.1
	// Rate is how many samples a second a Reader may visit on a CPU.
	Rate = mostShare / aSample
)

// maxWatched bounds the processes whose interpreters, or deep stacks, are read at a time. The
// helper frees no memory, and takes about 150 KB for each process: after maxEnded that have ended,
// another one follows it.
const (
	maxWatched = 256
	maxEnded   = 250
)

// maxHelper is how many bytes of memory the helper may have, whatever it was told and whatever
// records were lost: then another one follows it.
const maxHelper = 64 << 20

// errTooMany is why those of others are missing.
var errTooMany = fmt.Errorf("%d processes are read, and no more", maxWatched)

// maxReadings bounds the readings that nobody has asked for.
const maxReadings = 1 << 16

// forgotten is how long after a sample its reading is kept.
const forgotten = 10 * time.Second

// patience is how long after a sample its reading is waited for.
const patience = 2 * time.Second

// Calls are the calls of interpreted code in the thread of a sample.
type Calls struct {
	Kind   near.Kind // None: Chains is empty
	Chains []Chain
	Beyond callchain.Beyond // of the stack; only if Kind is Exact
	// Others are the stacks that it leads to, and Goroutines whose those of Go are. Likewise.
	Others     []callchain.Stretch
	Goroutines []Goroutine
	Early      bool // the sample came before its process was read
	inVain     bool // Beyond is not read any more, as it never was exact where the sample was taken
}

// Reader has the calls of the samples of a session. The helper begins with the first process
// that is watched.
type Reader struct {
	session *perfevent.Session
	share   float64  // 0: no samples are visited
	leisure *leisure // nil: none begin a wait
	log     *slog.Logger
	thinned atomic.Uint32 // the most hits of a probe from one that wakes to the next, so far

	ready    sync.WaitGroup // of watches under way
	mu       sync.Mutex     // of what follows
	changed  *sync.Cond     // progress, or over
	helper   *near.Reader   // nil: it has not begun
	helpers  []uint32       // processes that it is and was
	cancel   func()         // of its Read
	attached int            // processes that it was told of
	most     int            // maxEnded
	memory   uint64         // maxHelper
	watched  map[int]*target
	readings map[sampled]Calls
	progress uint64 // readings of samples before that time have come
	swept    uint64 // when the watched were looked after
	over     bool   // no readings come any more
	why      error  // there are none, or no more
	closed   bool
}

// target is a process that is watched.
type target struct {
	process *process.Process
	names   namers          // nil: it has no runtimes
	wants   []news          // what the helper is told of it: attachTo, beyondOf, goesIntoGo, goesIntoC
	asked   uint64          // when the last three were last
	tops    map[uint64]bool // topOf, and the ends of overOf, since then
	over    bool            // overOf was told
	uneven  bool            // a stack was not whole although its end was read: overOf is told no more
	since   uint64          // when it is; 0: not yet
	vain    map[int]int     // by sampling: readings of deep stacks in a row that were not exact
}

// sampled is which sample a reading is of.
type sampled struct {
	cpu, tid uint32
	time     uint64
}

// New makes a Reader of a session's samples. Those that come so many times a second on each CPU
// are visited; then the session must be as near.StartBeside wants it. With 0 there are none.
// Those that begin a wait are read at leisure; switched is nil where there are none.
func New(session *perfevent.Session, frequency uint64, switched Switched, log *slog.Logger) *Reader {
	r := &Reader{session: session, log: log, most: maxEnded, memory: maxHelper, watched: make(map[int]*target), readings: make(map[sampled]Calls)}
	if frequency > 0 {
		r.share = max(leastShare, min(mostShare, float64(frequency)*aSample))
	}
	if switched != nil {
		if r.leisure, r.why = newLeisure(session, switched); r.leisure != nil {
			go r.leisure.run()
		}
	}
	r.changed = sync.NewCond(&r.mu)
	return r
}

// take keeps a reading.
func (r *Reader) take(helper *near.Reader, known *pages, reading *near.Reading) error {
	c := Calls{Kind: reading.Verdict.Kind}
	var read stacks
	if c.Kind == near.None {
		r.log.Debug("nothing was read of a thread", "tid", reading.TID, "reason", reading.Verdict.Reason)
	} else {
		chains, rest, ok := parse(reading.Data)
		var isKnown bool
		if read, isKnown = known.take(reading.CPU, rest); !isKnown {
			if err := helper.Tell(news{what: resend}.message()); err != nil {
				return err
			}
		}
		switch {
		case !ok:
			c = Calls{}
		case c.Kind == near.Exact:
			c.Chains, c.Beyond, c.Others, c.Goroutines = chains, read.beyond, read.others, read.goroutines
		default:
			c.Chains = chains
		}
	}
	var names namers
	defer func() { names.note(c.Chains) }()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.readings) >= maxReadings {
		clear(r.readings)
	}
	r.readings[sampled{uint32(reading.CPU), reading.TID, reading.Time}] = c
	if t := r.watched[int(reading.PID)]; t != nil {
		names = t.names
		if !read.beyond.Empty() || len(read.others) > 0 {
			r.judge(t, reading.Sampling, c.Kind == near.Exact)
		}
	}
	return nil
}

// advance is of near.Options.Round.
func (r *Reader) advance(before uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = before
	if now := perfevent.Now(); now > r.swept+uint64(time.Second) {
		r.swept = now
		r.sweep()
	}
	r.changed.Broadcast()
}

// At returns the calls of interpreted code that the thread of a sample was in. It waits for
// them, and returns each once.
func (r *Reader) At(s *perfevent.Sample) Calls {
	if r.leisure != nil {
		if leaves, _ := r.leisure.switched(s); leaves {
			return r.leisure.at(s)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.watched[int(s.PID)]
	if t == nil {
		return r.pop(s)
	}
	if t.since == 0 || s.Time < t.since {
		return Calls{Early: true}
	}
	for !r.over && t.since > 0 && r.progress <= s.Time && perfevent.Now() < s.Time+uint64(patience) {
		r.changed.Wait()
	}
	c := r.pop(s)
	c.inVain = t.vain[s.Sampling] >= mostVain
	return c
}

// pop takes the reading of a sample.
func (r *Reader) pop(s *perfevent.Sample) Calls {
	at := sampled{s.CPU, s.TID, s.Time}
	c := r.readings[at]
	delete(r.readings, at)
	return c
}

// IsHelper tells whether a process is the helper, or was: what it does is ringtap's own doing.
func (r *Reader) IsHelper(pid uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.helpers, pid)
}

// Rung is the lowest way that a thread of the helper runs in, and false if there is none.
func (r *Reader) Rung() (lowest near.Rung, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.helper == nil {
		return 0, false
	}
	lowest = near.FIFO
	for _, a := range r.helper.Accounts() {
		lowest = min(lowest, a.Rung)
	}
	return lowest, true
}

// Err is why calls are missing; nil if nothing is wrong.
func (r *Reader) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why
}

// Close ends the helper, and what reads at leisure. The session must still be open.
func (r *Reader) Close() (err error) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.ready.Wait()
	if r.leisure != nil {
		err = r.leisure.close()
	}
	if r.helper == nil {
		return err
	}
	r.cancel()
	return errors.Join(err, r.helper.Close())
}
