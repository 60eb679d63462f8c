package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/symbolize"
	"github.com/ringtap/ringtap/perfevent"
)

// Options is what a run does.
type Options struct {
	Target   perfevent.Target
	Sources  []probe.Source
	Aside    []perfevent.Sampling   // that are opened behind the sources, for Seen alone
	Stacks   stack.Stacks           // that are shown after each line; the zero value shows none. See Urgent
	Duration time.Duration          // 0: until the context is done or the target has ended
	Seen     func(perfevent.Record) // see perfevent.Reader.Unordered
	Urgent   bool                   // Seen must see each record as soon as it comes: nothing is read for Stacks.Moments
	Helper   uint32                 // a process whose hits are ringtap's own; 0: none
	MaxRate  uint64                 // hits a second at which the run ends, with a *RateError; 0: none
	MaxHits  uint64                 // after which the run ends; 0: none
	Printing printfmt.Options
	// Stamp, unless nil, appends what stands before the line of a hit at that time of
	// the records' clock.
	Stamp func(dst []byte, nanoseconds uint64) []byte
	// Out is given whole lines. Its error ends the run.
	Out    io.Writer
	Logger *slog.Logger // nil discards
	// Armed, unless nil, is called when all events are counting.
	Armed func()
}

// Account is where the hits of all events of a run went.
type Account struct {
	run.Account
	Shown uint64
	Own   uint64 // ringtap's own, which are not shown
	Cut   uint64 // shown ones whose user stack was cut short
	// Filtered are those that probe.Source.Keep left out, and Unread those of which it
	// could not tell.
	Filtered, Unread uint64
	// Calls are the shown ones of processes with an interpreter.
	Calls moment.Tally

	notes []string
}

// Notes are those of run.Account, and how the functions of interpreted code are known.
func (a *Account) Notes() []string { return append(a.Account.Notes(), a.notes...) }

// spoolBytes is how much may wait while the output takes nothing.
const spoolBytes = 64 << 20

// Run follows the events until the context is done, the duration is over, the
// target has ended, there were MaxHits, Out fails or events come too fast. The error is the
// *perfevent.OpenError of an event that can't be opened, Out's, or a *RateError. When Run returns, the events are closed.
func Run(ctx context.Context, o Options) (Account, error) {
	f, err := newFollower(o)
	if err != nil {
		return Account{}, err
	}
	opts := perfevent.Options{Logger: f.opts.Logger, NoBuffering: o.Urgent}
	if !f.wantsProcesses() {
		opts.SideBand = perfevent.SideBandNames
	}
	samplings := f.samplings()
	if f.opts.Stacks.Moments {
		opts.Shared = true
		samplings = append(samplings, moment.Dither(samplings)...)
	}
	source, err := run.Open(o.Target, samplings, opts)
	if err != nil {
		return Account{}, err
	}
	defer source.Close()
	if f.opts.Stacks.Moments {
		f.moments, f.pace = moment.New(source.Session, moment.Rate, nil, f.opts.Logger), moment.NewPace(samplings, nil, 0)
		defer f.closeMoments()
	}
	return f.follow(ctx, source)
}

// newFollower reads the print formats of the sources.
func newFollower(o Options) (*follower, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Stacks.Moments = o.Stacks.Moments && o.Stacks.User && !o.Urgent
	f := &follower{opts: o, self: uint32(os.Getpid()), rate: rate{max: o.MaxRate}}
	for i := range o.Sources {
		source := &o.Sources[i]
		printer, err := printfmt.New(source.Format, o.Printing)
		if err != nil {
			return nil, fmt.Errorf("print format of %s: %w", source.Format.Name, err)
		}
		f.printers = append(f.printers, printer)
		f.places = append(f.places, newPlaces(source))
	}
	return f, nil
}

// follower is a run under way.
type follower struct {
	opts     Options
	self     uint32
	printers []*printfmt.Printer // of each source
	names    *process.Names
	snapshot func() // reads the names, once
	// processes is nil if neither stacks nor places are shown.
	processes *process.Table
	stacks    *stacks // nil if none are shown
	places    []places
	// moments has the calls of interpreted code, of hits that pace has wake it; nil: none are asked for.
	moments *moment.Reader
	pace    moment.Pace
	hits    uint64

	raw      []byte // that Source.Record made
	line     []byte // under way
	head     []byte // of the lines of a stack
	out      bytes.Buffer
	writeErr error
	account  Account
	rate     rate
	enough   func() // ends the run, after Options.MaxHits
}

func (f *follower) wantsStacks() bool { return f.opts.Stacks.User || f.opts.Stacks.Kernel }

func (f *follower) wantsProcesses() bool {
	return f.wantsStacks() || slices.ContainsFunc(f.places, places.inFiles)
}

// samplings is what is opened, one for each source.
func (f *follower) samplings() []perfevent.Sampling {
	var samplings []perfevent.Sampling
	for i := range f.opts.Sources {
		s := f.opts.Sources[i].Sampling()
		if f.wantsStacks() {
			f.opts.Stacks.Prepare(&s)
		}
		f.opts.Sources[i].PrepareRecord(&s)
		samplings = append(samplings, s)
	}
	return append(samplings, f.opts.Aside...)
}

// follow follows the events of a source.
func (f *follower) follow(ctx context.Context, source run.Source) (Account, error) {
	spool := spoolBytes
	if f.moments != nil {
		spool *= 2 // hits wait for what is read of them
	}
	engine, err := run.New(source, run.Options{
		NoProcesses: !f.wantsProcesses(), Unwind: f.opts.Stacks.User,
		Duration: f.opts.Duration, Spool: spool, Unordered: f.seen(), Logger: f.opts.Logger,
	})
	if err != nil {
		return Account{}, err
	}
	defer engine.Close()
	f.processes = engine.Processes()
	late, stop := run.Late(ctx, f.opts.Duration, f.processes)
	defer stop()
	f.names = process.NewNames(source.Host())
	f.snapshot = sync.OnceFunc(func() { f.names.Snapshot(source.Processes()...) })
	if f.wantsStacks() {
		symbolizer := symbolize.New(symbolize.Options{CachePerfMaps: true, Late: late, Host: source.Host(), Logger: f.opts.Logger})
		defer symbolizer.Close() // the debug files were only read
		f.stacks = newStacks(f.opts.Stacks, f.processes, symbolizer)
		f.prepareMoments(source)
	}
	if len(source.Processes()) > 0 {
		f.snapshot() // before a command that was started runs, and runs another program
	}
	if err := source.Enable(); err != nil {
		return Account{}, err
	}
	if f.opts.Armed != nil {
		f.opts.Armed()
	}
	// The names of a whole system are read at once, before their threads end, and
	// while the rings are read: the first record waits for them.
	go f.snapshot()
	ctx, f.enough = context.WithCancel(ctx)
	defer f.enough()
	err = engine.Run(ctx, f)
	f.snapshot()
	f.flush()
	if f.stacks != nil {
		f.account.Cut, f.account.Calls, f.account.notes = f.stacks.cut, f.stacks.calls, f.momentNotes()
	}
	if err == nil {
		err = f.writeErr
	}
	var accountErr error
	f.account.Account, accountErr = source.Account()
	if n := len(f.opts.Sources); len(f.account.Events) > n {
		f.account.Events = f.account.Events[:n] // not those aside
	}
	return f.account, errors.Join(err, accountErr)
}

// Record takes one record.
func (f *follower) Record(record perfevent.Record) error {
	f.snapshot()
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		f.names.Handle(record)
		return nil
	}
	if sample.Sampling >= len(f.opts.Sources) {
		return nil // aside
	}
	f.hits++
	if sample.PID == f.self || sample.PID == f.opts.Helper && sample.PID != 0 || f.moments != nil && f.moments.IsHelper(sample.PID) {
		f.account.Own++
		return nil
	}
	if most := f.opts.MaxHits; most > 0 && f.account.Shown >= most {
		return nil // it came before the run could end
	}
	if !f.wanted(sample) {
		return nil
	}
	f.account.Shown++
	f.show(sample)
	if f.account.Shown == f.opts.MaxHits {
		f.enough()
	}
	if f.out.Len() >= outBytes {
		f.flush()
	}
	return f.writeErr
}

// outBytes is how much output comes together before it is written at once.
const outBytes = 64 << 10

// unknown is the name of a thread whose name nobody knows, as the kernel's trace has it.
var unknown = []byte("<...>")

// show appends the line of a sample, and its stacks, to the output.
func (f *follower) show(sample *perfevent.Sample) {
	source := &f.opts.Sources[sample.Sampling]
	format := source.Format
	if p := f.places[sample.Sampling]; p != nil {
		format = p.format(f.processes, sample, format)
	}
	comm := f.names.Name(sample.TID)
	if comm == nil {
		comm = unknown
	}
	f.line = f.line[:0]
	if f.opts.Stamp != nil {
		f.line = f.opts.Stamp(f.line, sample.Time)
	}
	f.line = printfmt.AppendLine(f.line, comm, int(sample.TID), int(sample.CPU), sample.Time, sample.Raw, format, f.printers[sample.Sampling])
	f.line = append(f.line, '\n')
	if f.stacks != nil {
		f.head = printfmt.AppendHead(f.head[:0], comm, int(sample.TID), int(sample.CPU), sample.Time, sample.Raw)
		f.line = f.stacks.append(f.line, f.head, sample)
	}
	f.out.Write(f.line)
}

// Round writes what has come together.
func (f *follower) Round(before uint64) error {
	f.flush()
	if f.writeErr != nil {
		return f.writeErr
	}
	if f.moments != nil {
		f.pace.Look(f.moments, moment.Hits{All: f.hits}, before)
	}
	return f.rate.check(before, f.account.Shown+f.account.Own+f.account.Filtered+f.account.Unread)
}

// flush writes the output; its error is noted.
func (f *follower) flush() {
	if f.out.Len() > 0 && f.writeErr == nil {
		_, f.writeErr = f.opts.Out.Write(f.out.Bytes())
	}
	f.out.Reset()
}
