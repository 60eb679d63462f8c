package near

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// Options are the bounds of a Reader. Zero values stand for the defaults.
type Options struct {
	VisitTime  time.Duration // of one visit; 1 ms, as a virtual machine may take 0.4 ms to read an interpreter's calls
	VisitBytes int           // that one visit may keep; 16 KiB, at most 256 KiB
	// Share is the part of each CPU that the reader may use; 0.02. Over it the thread
	// rests, and the CPU's events are off: see Account.Resting.
	Share float64
	// Round, unless nil, is called by Read after each look: it has handed on all readings of
	// samples before that time, CLOCK_MONOTONIC in nanoseconds.
	Round func(before uint64)
	// Logger gets warnings about what was left out; nil discards them.
	Logger *slog.Logger
}

// The defaults, and the sizes of the rings of a CPU: the kernel's, and the one between the
// helper and its caller.
const (
	visitTime    = time.Millisecond
	visitBytes   = 16 << 10
	mostBytes    = 256 << 10
	defaultShare = 0.02
	ringBytes    = 512 << 10
	// A burst of 20 ms has to fit, see between.
	mostHandover  = 4 << 20
	leastHandover = 1 << 20
	allHandovers  = 64 << 20
)

// Reading is a visit that has its verdict.
type Reading struct {
	CPU      int
	Time     uint64 // of the sample, CLOCK_MONOTONIC in nanoseconds
	PID, TID uint32
	Sampling int                 // which of the samplings, as an index
	IP       uint64              // instruction pointer
	Regs     perfevent.Registers // none with StartBeside
	Data     []byte              // what the visitor kept
	Verdict  Verdict
}

// Reader has a target's samples visited.
type Reader struct {
	session *perfevent.Session
	helper  *helper
	cpus    []int
	judge   judge
	round   func(before uint64) // Options.Round, or nil
	paused  []bool
	counts  []Account // of Close
	joined  joined

	followed *perfevent.Session // whose samples are visited; nil: those of session
	changes  int                // of its events that the helper knows
}

// Start opens the samplings on the target, with registers that it chooses, and starts the helper:
// each sample is visited at once. visitor is one of those
// that the program gave to Serve. An error is a *perfevent.OpenError where the kernel
// refused an event. CPUs that the kernel leaves to one thread each (nohz_full) are not
// watched. Where package perfevent watches the whole system in the target's place (a Kprobe,
// too many threads for the open files) others' samples are visited as well.
func Start(target perfevent.Target, samplings []perfevent.Sampling, visitor string, config []byte, opts Options) (*Reader, error) {
	if os.Getenv(variable) != "" {
		return nil, errors.New("start the near reader: the program's main function does not call Serve")
	}
	all := append(slices.Clone(samplings), perfevent.Sampling{})
	o := order{Visitor: visitor, Config: config, Witness: len(samplings), Highest: FIFO, Places: make([]place, len(samplings)+1),
		Skip: []uint32{uint32(os.Getpid())}}
	for i, s := range samplings {
		all[i].UserRegs, all[i].Soon = allRegisters, true
		o.Places[i] = placeOf(s.Event.IsTracepoint(), s.UserProbe)
	}
	all[len(samplings)] = perfevent.Sampling{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1, UserRegs: allRegisters}
	session, err := openWitness(target, all, opts)
	if err != nil {
		return nil, err
	}
	o.Events, o.Rings = session.Events(), session.RingFiles()
	o.bound(opts)
	r, err := start(o)
	if err == nil {
		r.session, r.round = session, opts.Round
		err = session.Enable()
	}
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return r, nil
}

// PID is that of the helper, for a caller who leaves itself out of what it looks at. The
// helper's name is near-reader.
func (r *Reader) PID() int { return r.helper.cmd.Process.Pid }

// bound takes the options over.
func (o *order) bound(opts Options) {
	o.VisitTime, o.VisitBytes, o.Share = opts.VisitTime, opts.VisitBytes, opts.Share
	if o.VisitTime <= 0 {
		o.VisitTime = visitTime
	}
	if o.VisitBytes <= 0 {
		o.VisitBytes = visitBytes
	}
	o.VisitBytes = min(o.VisitBytes, mostBytes)
	if o.Share <= 0 {
		o.Share = defaultShare
	}
	size := mostHandover
	for size > leastHandover && size*len(o.Rings) > allHandovers {
		size /= 2
	}
	o.Memory = controlSize + size
}

// start starts the helper for events that are open.
func start(o order) (*Reader, error) {
	h, err := launch(o)
	if err != nil {
		return nil, err
	}
	r := &Reader{helper: h, judge: judge{cpus: make([]switches, len(o.Rings))}, paused: make([]bool, len(o.Rings))}
	for _, ring := range o.Rings {
		r.cpus = append(r.cpus, ring.CPU)
	}
	return r, nil
}

// between is how long Read waits between two looks.
const between = 20 * time.Millisecond

// Read hands on the readings in order of time, a few ten milliseconds late, until ctx is
// done. A reading is the caller's own. The error says that the helper has ended, or is that
// of handle, which ends Read at once.
func (r *Reader) Read(ctx context.Context, handle func(*Reading) error) error {
	tick := time.NewTicker(between)
	defer tick.Stop()
	var until uint64 // what was sampled before is waited for
	for {
		r.collect()
		for _, v := range r.judge.ripe() {
			if err := handle(&v.Reading); err != nil {
				return err
			}
		}
		if r.round != nil {
			r.round(r.judge.passed(r.known()))
		}
		if err := r.follow(); err != nil {
			return err
		}
		if until == 0 {
			if err := r.pause(); err != nil {
				return err
			}
		} else if r.known() > until {
			return nil
		}
		select {
		case <-r.helper.ended:
			return fmt.Errorf("the near reader has ended: %v%s", r.helper.cmd.ProcessState, r.helper.words())
		case <-tick.C:
		}
		if ctx.Err() != nil && until == 0 {
			if r.session != nil {
				if err := r.session.Disable(); err != nil {
					return err
				}
			}
			until = perfevent.Now()
		}
	}
}

// known is up to where all is known.
func (r *Reader) known() uint64 {
	least := r.judge.cpus[0].progress
	for i := range r.judge.cpus {
		least = min(least, r.judge.cpus[i].progress)
	}
	return least
}

// collect takes what the threads have handed over.
func (r *Reader) collect() {
	for i := range r.helper.outs {
		out := &r.helper.outs[i]
		cpu := &r.judge.cpus[i]
		progress := atomic.LoadUint64(&out.progress)
		for e, rest := out.take(); e != nil; e, rest = out.take() {
			switch e.Kind {
			case viewEntry:
				r.judge.waiting = append(r.judge.waiting, newView(r.cpus[i], e, rest))
			case inEntry:
				cpu.add(in{e.Time, e.TID})
			case gapEntry:
				cpu.gaps = append(cpu.gaps, gap{e.Time, e.Ended})
			}
			out.free(e)
		}
		cpu.progress = progress // read before the entries, which may go further
	}
}

// newView copies a visit.
func newView(cpu int, e *entry, rest []byte) *view {
	words, data := wordsOf(rest, int(e.Regs))
	v := &view{began: e.Began, ended: e.Ended, out: e.Out, follow: e.Follow}
	v.Reading = Reading{CPU: cpu, Time: e.Time, PID: e.PID, TID: e.TID, Sampling: int(e.Sampling), IP: e.IP,
		Data: append([]byte(nil), data[:e.Data]...), Verdict: Verdict{Reason: e.Reason}}
	if len(words) > 0 {
		v.Regs = perfevent.Registers{ABI: uint64(e.ABI), Mask: allRegisters, Values: append([]uint64(nil), words...)}
	}
	return v
}

// pause turns the events of CPUs off whose threads rest.
func (r *Reader) pause() error {
	if r.session == nil || r.followed != nil {
		return nil
	}
	for i := range r.helper.outs {
		rests := atomic.LoadUint64(&r.helper.outs[i].resting) != 0
		if rests == r.paused[i] {
			continue
		}
		if err := r.session.Pause(r.cpus[i], rests); err != nil && !errors.Is(err, unix.ENODEV) {
			return err
		}
		r.paused[i] = rests
	}
	return nil
}

// Account is what the thread of one CPU did.
type Account struct {
	Counts
	CPU     int
	Rung    Rung   // how it runs
	Resting uint64 // since when it does not read, CLOCK_MONOTONIC in nanoseconds, or 0
}

// Accounts returns an account for each CPU that is watched.
func (r *Reader) Accounts() []Account {
	if r.counts != nil {
		return r.counts
	}
	accounts := make([]Account, len(r.cpus))
	for i := range accounts {
		c := r.helper.outs[i].control
		accounts[i] = Account{CPU: r.cpus[i], Rung: Rung(atomic.LoadUint64(&c.rung)), Resting: atomic.LoadUint64(&c.resting), Counts: c.counts}
	}
	return accounts
}

// Close ends the helper and closes the events. Read must have returned.
func (r *Reader) Close() error {
	r.counts = r.Accounts()
	err := errors.Join(r.helper.close(), r.joined.close())
	if r.session != nil {
		err = errors.Join(err, r.session.Close())
	}
	return err
}
