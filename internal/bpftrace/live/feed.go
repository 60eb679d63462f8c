package live

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/perfevent"
)

// Handler runs the program. Its methods are called in the order of time.
type Handler interface {
	// Start is called when the events are on, before the first hit. No hit is earlier than
	// now. It returns false when the program is over.
	Start(now uint64) bool
	// Hit runs a clause. It returns false when the program is over.
	Hit(clause int, h *eval.Hit) bool
	// Lost is called when records are missing: the state that earlier hits have left may be out of date.
	Lost()
	// Due returns the time of the next tick, CLOCK_MONOTONIC in nanoseconds; false if there is none.
	Due() (when uint64, ok bool)
	// Tick is called at the time that Due returned. It returns false when the program is over.
	Tick() bool
}

// feed passes the records of a run to its handler.
type feed struct {
	*Attachment
	handler   Handler
	self      uint32
	processes *process.Table
	names     *process.Names
	parents   map[int]int // parent PIDs of the processes that run at the start; nil if no clause asks for them

	hit         hit
	equal       equalHits
	session     *perfevent.Session // nil if the records do not come from rings
	copies      []*copies          // of the session's events
	unwound     *stack.User        // the current hit's user stack if Early has unwound it, or nil
	lost        uint64             // records that the kernel dropped, of any event
	interpreted interpreted
	waiting     int    // hits that were handled after the end of the run
	raw         []byte // buffer for records that probe.Source.Record makes
	account     Account
	ended       bool  // the program wants no more hits
	failed      error // why a Tick failed
}

// hit is a sample that clauses run at.
type hit struct {
	feed   *feed
	source *source
	sample *perfevent.Sample
	raw    []byte
	of     *process.Process // nil until it is asked for
	taken  []athit.Found    // memory that the Reader has read; nil until it is asked for
	entry  []byte           // the record of the function's entry, nil if there is none
	// probed is the event probe's record, or nil if the record is lost. It is valid if probedTaken is set.
	probed      []byte
	probedTaken bool
	comm        string // the thread's name; "" if it is not known yet
	countedLate bool   // a read of the hit was late, and Account.Late counts it
	use         *use   // the clause that runs
	eval        eval.Hit
}

// Value takes a value from the record, the stacks or the process.
func (h *hit) Value(source int) value.Value { return h.use.values[source](h) }

// Comm returns the name of the thread.
func (h *hit) Comm() string {
	if h.comm != "" {
		return h.comm
	}
	if h.sample.TID == 0 && !h.feed.options.Nested {
		return "swapper/" + strconv.Itoa(int(h.sample.CPU)) // what the kernel calls a CPU's idle thread
	}
	return string(h.feed.names.Name(h.sample.TID))
}

// process returns the process of the hit.
func (h *hit) process() *process.Process {
	if h.of == nil {
		h.of = h.feed.processes.Process(int(int32(h.sample.PID)))
	}
	return h.of
}

// Bounds of the rings of a program that takes every hit, in bytes: of one ring, and of all together.
const (
	maxRing  = 32 << 20
	allRings = 256 << 20
)

// ringBytes returns the size of a ring in bytes. If a probed function turns out to be hot, the ring
// must hold its hits while ringtap waits for a CPU. It returns 0, perfevent's choice, if no source
// records every hit.
func (f *feed) ringBytes() int {
	if !slices.ContainsFunc(f.sources, func(s *source) bool { return s.sample.Period == 1 }) {
		return 0
	}
	cpus, err := perfevent.OnlineCPUs()
	if err != nil {
		return 0
	}
	return min(maxRing, allRings/len(cpus))
}

// hasUnitWeight reports whether each hit of s counts as one: see perfevent.Sampling.UnitWeight.
func hasUnitWeight(s *source) bool { return !strings.HasPrefix(s.probe.Format.Name, "sched_stat_") }

// anyOrder reports whether the handler may get records in the order of the rings instead of the order
// of time. If only a target is watched, it may not: the FORK record of a child must come before its hits.
func (f *feed) anyOrder() bool {
	if f.texts != nil || !f.commutes || !f.ofSystem() {
		return false
	}
	for _, s := range f.sources {
		if s.places != nil || s.calls != nil || !s.event.Bare(f.program) {
			return false
		}
	}
	return true
}

// ofSystem reports whether the whole system is watched.
func (f *feed) ofSystem() bool { return f.options.Target.String() == perfevent.System().String() }

// soonBytes is how many bytes of records wake the reader if hits may come in a storm, which the
// kernel can then count or leave out. It is a few hundred hits.
const soonBytes = 128 << 10

// wakeBytes returns how many bytes of records wake the reader, or 0 for perfevent's choice.
func (f *feed) wakeBytes() int {
	if f.anyOrder() || f.ofSystem() && slices.ContainsFunc(f.sources, (*source).mayLeaveOut) {
		return soonBytes
	}
	return 0
}

// Bounds of the records that wait in the spool, in bytes: while the program prints, or, if it only aggregates,
// while stacks are read.
const (
	spoolBytes      = 256 << 20
	aggregatedSpool = 80 << 20
)

// Run passes hits and ticks to the handler until the context is done, the target has ended or the handler
// returns false. When Run returns, the events are off. Close takes the kernel a moment for each event, so
// the caller should write the program's output before Close.
func (a *Attachment) Run(ctx context.Context, handler Handler) (Account, error) {
	f := a.feed(handler)
	if a.texts != nil {
		if err := a.texts.Start(a.options.Target); err != nil {
			return Account{}, err
		}
	}
	if a.options.Near {
		if err := a.reader.Start(a.options.Target, func(i int) perfevent.Sampling { return a.sources[i].probe.Sampling() }); err != nil {
			a.options.Logger.Info("memory of processes is read late", "error", err)
		}
	}
	f.askInterpreted()
	opts := perfevent.Options{Logger: a.options.Logger, NoBuffering: f.isUrgent(), RingBytes: f.ringBytes(), WakeupWatermark: f.wakeBytes()}
	opts.SharedRings = f.wantsInterpreted()
	source, err := f.open(opts)
	if err != nil {
		return Account{}, err
	}
	f.session, f.copies = source.Session, f.newCopies(f.samplings())
	a.source = source
	f.equal.session, f.equal.logger = source, a.options.Logger
	f.watchRepeats()
	return f.follow(ctx, source)
}

// feed returns a feed for a handler.
func (a *Attachment) feed(handler Handler) *feed {
	a.reader = a.newReader()
	f := &feed{Attachment: a, handler: handler, self: uint32(os.Getpid())}
	f.hit.feed = f
	return f
}

// follow passes the records of a source to the handler until the run ends.
func (f *feed) follow(ctx context.Context, source engine.Source) (Account, error) {
	opts := engine.Options{Unwind: f.unwinds(), Names: true, Spool: spoolBytes, Unordered: f.seen(), Logger: f.options.Logger}
	samplings := f.samplings()
	opts.Calls, f.interpreted.throttle = f.calls(samplings), atsample.NewWakeupThrottle(samplings, nil, 0)
	if f.aggregates {
		opts.Spool = aggregatedSpool
	}
	if f.anyOrder() {
		opts.AnyOrder, opts.Spool = true, 0
	}
	engine, err := engine.Start(ctx, source, opts)
	if err != nil {
		return Account{}, err
	}
	f.engine, f.processes = engine, engine.Processes()
	f.symbolizer = symbolize.New(symbolize.Options{
		Lines: f.program.Config.ShowDebugInfo, CachePerfMaps: true, Demangle: f.demangle, Late: engine.Late(), Host: source.Host(), Logger: f.options.Logger,
	})
	f.stacks = newStacks(f.processes, f.symbolizer)
	for _, s := range f.sources {
		s.stacker = f.stacks.store.Stacker(s.stacks)
	}
	f.watchExclusions()
	if engine.Calls() != nil {
		f.stacks.store.ReadAtSamples(engine.Calls())
	}
	engine.Prepare(f.stacks.store.Prepare)
	if f.asksForParents() {
		f.parents = parentsOf(source.Host())
	}
	for _, c := range f.counted {
		if err := c.start(); err != nil {
			return Account{}, err
		}
	}
	if f.pointees != nil {
		f.filterPointees()
		if err := f.pointees.start(); err != nil {
			return Account{}, err
		}
		defer f.pointees.collect()()
	}
	f.markEarly()
	at := source.Now()
	for _, c := range f.copies {
		c.growth.Start(at)
	}
	if err := engine.Enable(); err != nil {
		return Account{}, err
	}
	f.names = engine.Names() // read before the program says that it traces: a process that waits for that may end soon after
	if f.handler.Start(at) {
		err = engine.Run(f)
	} else {
		f.ended = true
	}
	f.endExclusions()
	err = errors.Join(err, f.failed, f.settle())
	f.account.Stacks, f.account.Users, f.account.Cut = f.stacks.dropped, f.stacks.users, f.stacks.cut
	if calls := engine.Calls(); calls != nil {
		f.account.Interpreted = calls.Notes(f.stacks.calls)
	}
	if f.texts != nil {
		f.account.Texts, f.account.Missing = f.texts.Texts, f.texts.Missing
		f.account.Late, f.account.Rests = f.account.Late+f.texts.Late, f.texts.Rests()
	}
	if t := f.userTexts; t != nil {
		f.account.Texts, f.account.Missing = f.account.Texts+t.Texts, f.account.Missing+t.Missing
		f.account.Late, f.account.CutTexts = f.account.Late+t.Late, t.Cut
		f.account.Rests = cmp.Or(f.account.Rests, t.Rests())
	}
	f.account.Rests = cmp.Or(f.reader.Rests("memory was read a moment after them"), f.account.Rests)
	var accountErr error
	f.account.Account, accountErr = source.Account()
	f.account.Probes = f.books()
	return f.account, errors.Join(err, accountErr, f.bookCounts(), f.accountPointees(), f.missed())
}

// isUrgent reports whether ringtap must see each record as soon as it comes, to read memory for it. Reads at
// addresses that the program computes are not urgent: they happen when the clause runs. Texts are not urgent if
// all are read at the calls and the program takes user stacks, which can then have interpreted functions.
func (f *feed) isUrgent() bool {
	if slices.ContainsFunc(f.sources, func(s *source) bool { return len(s.reads) > 0 }) {
		return true
	}
	return f.texts != nil && f.texts.Seen() != nil && !(f.unwinds() && f.texts.AtMoments())
}

// seen returns the function that gets records as soon as they come, or nil if nothing needs them.
func (f *feed) seen() func(perfevent.Record) {
	var texts func(perfevent.Record)
	if f.texts != nil {
		texts = f.texts.Seen()
	}
	if texts == nil && f.userTexts == nil && !slices.ContainsFunc(f.sources, (*source).readsMemory) {
		return nil
	}
	return func(record perfevent.Record) {
		sample, ok := record.(*perfevent.Sample)
		if !ok || sample.PID != f.self {
			f.reader.Seen(record)
		}
		if f.userTexts != nil {
			f.userTexts.Seen(record)
		}
		if texts != nil && !(ok && f.texted <= sample.Sampling && sample.Sampling < len(f.sources)) {
			texts(record)
		}
	}
}

// samplings returns the samplings to open: one for each source, and then extraEvents.
func (f *feed) samplings() []perfevent.Sampling {
	var samplings []perfevent.Sampling
	for _, s := range f.sources {
		sampling := s.sample
		if s.stacks.User || s.stacks.Kernel {
			s.stacks.Prepare(&sampling)
		}
		if s.readsMemory() {
			sampling.UserRegs |= callchain.Host().UserRegsMask()
			sampling.UserStack = max(sampling.UserStack, athit.StackBytes)
		}
		if s.probe != nil {
			s.probe.PrepareRecord(&sampling)
			sampling.UnitWeight = hasUnitWeight(s)
			sampling.CountRejected = f.options.Books && sampling.Filter != ""
		}
		samplings = append(samplings, sampling)
	}
	return append(samplings, f.extraEvents...)
}

// unwinds reports whether any clause takes user stacks.
func (f *feed) unwinds() bool {
	for _, s := range f.sources {
		if s.stacks.User {
			return true
		}
	}
	return false
}

// Record implements engine.Sink.
func (f *feed) Record(record perfevent.Record) error {
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		f.argCache.handle(record)
		f.handleExclusions(record)
		if lost, ok := record.(*perfevent.Lost); ok {
			f.lost += lost.Lost
			f.handler.Lost()
		}
		return nil
	}
	f.hits(sample)
	return nil
}

// hits runs the clauses at a sample, if it is a hit of one of the sources.
func (f *feed) hits(sample *perfevent.Sample) {
	switch {
	case sample.Sampling >= len(f.sources), f.ended:
		return // one of extraEvents, or after exit()
	case f.isLate():
		f.account.Unseen++
		return
	}
	if f.pointees != nil {
		f.pointees.handled.Store(sample.Time)
	}
	source := f.sources[sample.Sampling]
	if source.stacks.Interpreted {
		f.interpreted.hits++
	}
	if (sample.PID == f.self || f.isHelper(sample.PID)) && !source.everybody {
		f.account.Own++
		return
	}
	h := &f.hit
	h.source, h.sample, h.of, h.raw, h.taken, h.countedLate, h.comm = source, sample, nil, sample.Raw, nil, false, ""
	h.probed, h.probedTaken = nil, false
	if source.probe != nil && source.probe.Record != nil {
		f.raw = source.probe.Record(f.raw[:0], sample)
		h.raw = f.raw
	}
	f.cacheArgs(h)
	source.join(h)
	switch {
	case source.repeats != nil:
		f.look(h)
	case source.exclusion != nil:
		source.exclusion.look(sample)
	}
	f.run(eval.Hit{Time: sample.Time, CPU: int(sample.CPU), PID: sample.PID, TID: sample.TID, Values: h})
}

// run runs the clauses of the current hit's source.
func (f *feed) run(evalHit eval.Hit) {
	h, source := &f.hit, f.hit.source
	h.eval = evalHit
	for i := range source.uses {
		use := &source.uses[i]
		if !use.due(h.sample.CPU) {
			continue
		}
		h.use = use
		h.eval.Probe = use.probe
		if use.placed {
			h.eval.Probe = use.probe + h.function()
		}
		if !f.handler.Hit(use.clause, &h.eval) {
			f.ended = true
			f.engine.End()
			return
		}
	}
}

// Due returns the time of the next tick.
func (f *feed) Due() (when uint64, ok bool) { return f.handler.Due() }

// Tick runs the program's intervals. They see all hits that the kernel has counted by then.
func (f *feed) Tick() {
	if f.failed = f.takeCounts(); f.failed != nil || !f.handler.Tick() {
		f.ended = true
		f.engine.End()
	}
}

var _ engine.Ticked = (*feed)(nil)
