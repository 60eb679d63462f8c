package live

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/exacttext"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/internal/script/eval"
	"github.com/ringtap/ringtap/internal/script/value"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/symbolize"
	"github.com/ringtap/ringtap/internal/syscalltext"
	"github.com/ringtap/ringtap/perfevent"
)

// Handler takes what happens, in the order of time.
type Handler interface {
	// Start is called when the events are on, before the first hit, with the time before which
	// there is none. It returns false when the program is over.
	Start(at uint64) bool
	// Hit runs a clause. It returns false when the program is over.
	Hit(clause int, h *eval.Hit) bool
	// Lost is called where records are missing: what hits before have left may be out of date.
	Lost()
	// Due is the time of the next tick, CLOCK_MONOTONIC in nanoseconds; false if there is none.
	Due() (at uint64, ok bool)
	// Tick is called at that time. It returns false when the program is over.
	Tick() bool
}

// feed is a run under way.
type feed struct {
	*Attachment
	handler   Handler
	self      uint32
	helpers   []uint32 // the processes that read memory exactly
	processes *process.Table
	names     *process.Names
	parents   map[int]int // of the processes that there were before, if they are asked for
	snapshot  func()
	cancel    context.CancelFunc

	hit         hit
	apart       apart
	session     *perfevent.Session // nil of recorded hits
	copies      []*copies          // of the session's events
	unwound     *stack.User        // of the hit under way, if Early has it
	lost        uint64             // records that the kernel dropped, of any event
	interpreted interpreted
	memories    memories
	impatience
	raw     []byte // that a source made
	account Account
	ended   bool  // the program wants no more
	failed  error // of a Tick
}

// hit is a sample that clauses look at.
type hit struct {
	feed   *feed
	source *source
	sample *perfevent.Sample
	raw    []byte
	of     *process.Process // nil until it is asked for
	taken  *taken           // memory, nil until it is asked for
	entry  []byte           // the record of the function's entry, nil if there is none
	// The record of the event probe, nil if it is lost, once it is asked for.
	probed      []byte
	probedTaken bool
	comm        string // unless "", the name of the thread
	// Memory at addresses that the thread has kept, once it is asked for.
	kept                 []exacttext.Found
	keptTaken, keptExact bool
	use                  *use // the clause that looks
	eval                 eval.Hit
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

// Bounds of the rings of a program that takes every hit, in bytes: of one, and of all.
const (
	maxRing  = 32 << 20
	allRings = 256 << 20
)

// ringBytes is the size of a ring: a program whose place turns out to be hot must not lose
// hits while it waits for a CPU. It is 0, perfevent's choice, where samples are few.
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

// unweighted tells whether a hit of a source counts as one: see perfevent.Sampling.
func unweighted(s *source) bool { return !strings.HasPrefix(s.probe.Format.Name, "sched_stat_") }

// anyOrder tells whether the records may come as they are in the rings. Those of the children of
// a target may not: their births must come first.
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

// ofSystem tells whether the whole system is watched.
func (f *feed) ofSystem() bool { return f.options.Target.String() == perfevent.System().String() }

// soonBytes is what wakes the reader where the hits may come in a storm that the kernel can
// count or leave out: some hundred of them.
const soonBytes = 128 << 10

// wakeBytes is how many bytes of records wake the reader, 0 for perfevent's choice.
func (f *feed) wakeBytes() int {
	if f.anyOrder() || f.ofSystem() && slices.ContainsFunc(f.sources, (*source).mayLeaveOut) {
		return soonBytes
	}
	return 0
}

// Bounds of the records that wait, in bytes: while the program prints, and while stacks are read for a program
// that only aggregates.
const (
	spoolBytes      = 256 << 20
	aggregatedSpool = 80 << 20
)

// Run feeds the handler until the context is done, the target has ended or the handler wants
// no more. Then the events are off. Close closes them, which takes the kernel a moment for each: who waits
// for the program's output has it before that.
func (a *Attachment) Run(ctx context.Context, handler Handler) (Account, error) {
	f := a.feed(handler)
	if a.texts != nil {
		if err := a.texts.Start(a.options.Target, syscalltext.Options{Near: a.options.Near}); err != nil {
			return Account{}, err
		}
		f.helpers = append(f.helpers, a.texts.Helper())
	}
	a.startKept()
	if a.pointed.reader != nil {
		f.helpers = append(f.helpers, a.pointed.reader.PID())
	}
	f.askMoments()
	opts := perfevent.Options{Logger: a.options.Logger, NoBuffering: f.isUrgent(), RingBytes: f.ringBytes(), WakeBytes: f.wakeBytes()}
	opts.Shared = f.wantsMoments()
	source, err := f.open(opts)
	if err != nil {
		return Account{}, err
	}
	samplings := f.samplings()
	f.session, f.copies = source.Session, f.newCopies(samplings)
	a.source = source
	if opts.Shared {
		f.readMoments(source.Session, samplings)
		defer f.closeMoments()
	}
	f.apart.session, f.apart.logger = source, a.options.Logger
	f.watchRepeats()
	return f.follow(ctx, source)
}

// feed is what feeds a handler.
func (a *Attachment) feed(handler Handler) *feed {
	f := &feed{Attachment: a, handler: handler, self: uint32(os.Getpid())}
	f.hit.feed = f
	return f
}

// follow feeds the handler with the records of a source.
func (f *feed) follow(ctx context.Context, source run.Source) (Account, error) {
	defer f.impatience.begin(ctx)()
	ctx, f.cancel = context.WithCancel(ctx)
	defer f.cancel()
	opts := run.Options{Unwind: f.unwinds(), Spool: spoolBytes, Unordered: f.seen(), Logger: f.options.Logger}
	if f.aggregates {
		opts.Spool = aggregatedSpool
	}
	if f.anyOrder() {
		opts.AnyOrder, opts.Spool = true, 0
	}
	engine, err := run.New(source, opts)
	if err != nil {
		return Account{}, err
	}
	f.engine, f.processes = engine, engine.Processes()
	f.symbolizer = symbolize.New(symbolize.Options{
		Lines: f.program.Config.ShowDebugInfo, CachePerfMaps: true, Demangle: f.demangle, Host: source.Host(), Logger: f.options.Logger,
	})
	f.stacks = newStacks(f.processes, f.symbolizer)
	for _, s := range f.sources {
		s.stacker = f.stacks.store.Stacker(s.stacks)
	}
	f.watchOthers()
	f.names = process.NewNames(source.Host())
	f.prepareMoments(source)
	f.snapshot = sync.OnceFunc(func() { f.names.Snapshot(source.Processes()...) })
	if len(source.Processes()) > 0 {
		f.snapshot() // before a command that was started runs, and runs another program
	}
	if f.asksForParents() {
		f.parents = parentsOf(source.Host())
	}
	for _, c := range f.counted {
		if err := c.start(); err != nil {
			return Account{}, err
		}
	}
	if f.behind != nil {
		f.filterBehind()
		if err := f.behind.start(); err != nil {
			return Account{}, err
		}
		defer f.behind.collect()()
	}
	f.markEarly()
	at := source.Now()
	for _, c := range f.copies {
		c.growth.Start(at)
	}
	if err := source.Enable(); err != nil {
		return Account{}, err
	}
	f.snapshot() // before the program says that it traces: who waits for that may be gone soon after
	if f.handler.Start(at) {
		err = engine.Run(ctx, f)
	} else {
		f.ended = true
	}
	f.snapshot()
	f.endOthers()
	err = errors.Join(err, f.failed, f.settle())
	f.account.Stacks, f.account.Users, f.account.Cut = f.stacks.dropped, f.stacks.users, f.stacks.cut
	if reader := f.interpreted.reader; reader != nil {
		f.account.Interpreted = reader.Notes(f.stacks.calls)
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
	if rests := f.restedKept(); rests != "" {
		f.account.Rests = rests
	}
	var accountErr error
	f.account.Account, accountErr = source.Account()
	if n := len(f.sources) + len(f.aside); len(f.account.Events) > n {
		f.account.Events = f.account.Events[:n]
	}
	f.account.Probes = f.books()
	return f.account, errors.Join(err, accountErr, f.bookCounts(), f.bookBehind(), f.missed())
}

// isUrgent tells whether memory is read as soon as records come. Reads at addresses that only the
// program knows wait for their turn anyway, and so do texts for functions of interpreted code in stacks.
func (f *feed) isUrgent() bool {
	if slices.ContainsFunc(f.sources, func(s *source) bool { return len(s.reads) > 0 }) {
		return true
	}
	return f.texts != nil && f.texts.Seen() != nil && !(f.unwinds() && f.texts.AtMoments())
}

// seen returns what looks at records as they come, nil if nothing does.
func (f *feed) seen() func(perfevent.Record) {
	var texts func(perfevent.Record)
	if f.texts != nil {
		texts = f.texts.Seen()
	}
	if texts == nil && f.userTexts == nil && !slices.ContainsFunc(f.sources, (*source).readsMemory) {
		return nil
	}
	long := func(perfevent.Record) {}
	if f.userTexts != nil {
		long = f.userTexts.Seen()
	}
	return func(record perfevent.Record) {
		f.programs.handle(record)
		long(record)
		sample, ok := record.(*perfevent.Sample)
		if ok && sample.Sampling < len(f.sources) {
			if s := f.sources[sample.Sampling]; len(s.reads) > 0 && sample.PID != f.self {
				f.memories.take(s, sample, process.Host{})
			}
			if sample.Sampling >= f.texted {
				return // of a source without texts
			}
		}
		if texts != nil && (!ok || sample.Sampling < len(f.sources)+len(f.aside)) {
			texts(record)
		}
	}
}

// samplings is what is opened, one for each source.
func (f *feed) samplings() []perfevent.Sampling {
	var samplings []perfevent.Sampling
	for _, s := range f.sources {
		sampling := s.sample
		if s.stacks.User || s.stacks.Kernel {
			s.stacks.Prepare(&sampling)
		}
		if s.readsMemory() {
			sampling.UserRegs |= callchain.Host().UserRegsMask()
			sampling.UserStack = max(sampling.UserStack, stackCopy)
		}
		if s.probe != nil {
			s.probe.PrepareRecord(&sampling)
			sampling.Unweighted = unweighted(s)
			sampling.CountRest = f.options.Books && sampling.Filter != ""
		}
		samplings = append(samplings, sampling)
	}
	samplings = append(samplings, f.aside...)
	return append(samplings, moment.Dither(samplings)...)
}

// unwinds tells whether any stack of user code is asked for.
func (f *feed) unwinds() bool {
	for _, s := range f.sources {
		if s.stacks.User {
			return true
		}
	}
	return false
}

// Record takes one record.
func (f *feed) Record(record perfevent.Record) error {
	f.snapshot()
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		f.names.Handle(record)
		f.carried.handle(record)
		f.handleOthers(record)
		if lost, ok := record.(*perfevent.Lost); ok {
			f.lost += lost.Lost
			f.handler.Lost()
		}
		return nil
	}
	f.hits(sample)
	return nil
}

// hits runs the clauses at a sample, if it is a hit of the program's.
func (f *feed) hits(sample *perfevent.Sample) {
	switch {
	case sample.Sampling >= len(f.sources), f.ended:
		return // aside, or after exit()
	case f.over():
		f.account.Unseen++
		return
	}
	if f.behind != nil {
		f.behind.handled.Store(sample.Time)
	}
	source := f.sources[sample.Sampling]
	if source.stacks.Moments {
		f.interpreted.hits++
	}
	if (sample.PID == f.self || f.isHelper(sample.PID)) && !source.everybody {
		f.account.Own++
		return
	}
	h := &f.hit
	h.source, h.sample, h.of, h.raw, h.taken, h.comm = source, sample, nil, sample.Raw, nil, ""
	h.kept, h.keptTaken = nil, false
	h.probed, h.probedTaken = nil, false
	if source.probe != nil && source.probe.Record != nil {
		f.raw = source.probe.Record(f.raw[:0], sample)
		h.raw = f.raw
	}
	f.carry(h)
	source.join(h)
	switch {
	case source.repeats != nil:
		f.look(h)
	case source.others != nil:
		source.others.look(sample)
	}
	f.run(eval.Hit{Time: sample.Time, CPU: int(sample.CPU), PID: sample.PID, TID: sample.TID, Values: h})
}

// run runs the clauses at the hit under way.
func (f *feed) run(of eval.Hit) {
	h, source := &f.hit, f.hit.source
	h.eval = of
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
			f.cancel()
			return
		}
	}
}

// Due is the time of the next tick.
func (f *feed) Due() (at uint64, ok bool) { return f.handler.Due() }

// Tick runs the program's intervals, which see all that was counted by then.
func (f *feed) Tick() {
	if f.failed = f.takeCounts(); f.failed != nil || !f.handler.Tick() {
		f.ended = true
		f.cancel()
	}
}

var _ run.Ticked = (*feed)(nil)
