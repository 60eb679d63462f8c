package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/perfevent"
)

// Options configures a run.
type Options struct {
	Target   perfevent.Target
	Sources  []probe.Source
	Aside    []perfevent.Sampling   // opened after the sources, for Seen only
	Stacks   stack.Stacks           // shown after each line; the zero value shows none. See Urgent
	Duration time.Duration          // 0: until the context is done or the target has ended
	Seen     func(perfevent.Record) // see perfevent.Reader.Unordered
	Urgent   bool                   // Seen must see each record as soon as it is written: Stacks.Interpreted is ignored
	Helper   uint32                 // PID of a process whose hits count as ringtap's own; 0: none
	MaxRate  uint64                 // more hits a second end the run with a *RateError; 0: no limit
	MaxHits  uint64                 // number of hits that ends the run; 0: no limit
	Printing printfmt.Options
	// Stamp, unless nil, appends the text before the line of a hit. nanoseconds is the time of the
	// hit on the records' clock.
	Stamp func(dst []byte, nanoseconds uint64) []byte
	// Out gets whole lines. Its error ends the run.
	Out    io.Writer
	Logger *slog.Logger // nil discards
	// Armed, unless nil, is called when all events are enabled.
	Armed func()
}

// Account says what happened to the hits of a run.
type Account struct {
	engine.Account
	Shown uint64
	Own   uint64 // ringtap's own hits, which are not shown
	Cut   uint64 // shown, but the user stack was cut short
	// Filtered counts hits that probe.Source.Keep left out. Unread counts hits for which it could
	// not decide.
	Filtered, Unread uint64
	// Calls counts shown hits of processes with an interpreter.
	Calls atsample.CertaintyCounts

	notes []string
}

// Notes returns the notes of engine.Account, and how well interpreted functions are known.
func (a *Account) Notes() []string { return append(a.Account.Notes(), a.notes...) }

// spoolBytes is how many bytes of records may wait while the output is blocked.
const spoolBytes = 64 << 20

// Run follows the events until the context is done, the duration is over, the target has ended or
// there were MaxHits. It also ends if Out fails or events come too fast. The error is the
// *perfevent.OpenError of an event that can't be opened, Out's, or a *RateError. When Run returns,
// the events are closed.
func Run(ctx context.Context, o Options) (Account, error) {
	f, err := newFollower(o)
	if err != nil {
		return Account{}, err
	}
	opts := perfevent.Options{Logger: f.opts.Logger, NoBuffering: o.Urgent}
	if !f.wantsProcesses() {
		opts.SideBand = perfevent.SideBandNames
	}
	opts.SharedRings = f.opts.Stacks.Interpreted
	source, err := engine.Open(o.Target, f.samplings(), opts)
	if err != nil {
		return Account{}, err
	}
	defer source.Close()
	return f.follow(ctx, source)
}

// newFollower parses the print formats of the sources.
func newFollower(o Options) (*follower, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Stacks.Interpreted = o.Stacks.Interpreted && o.Stacks.User && !o.Urgent
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

// follower is the sink of a run.
type follower struct {
	opts     Options
	self     uint32
	printers []*printfmt.Printer // one per source
	engine   *engine.Engine      // its process table is nil if neither stacks nor places are needed
	stacks   *stacks             // nil if no stacks are shown
	places   []places
	throttle atsample.WakeupThrottle // chooses the hits at which interpreted calls are read
	hits     uint64

	raw      []byte // made by Source.Record
	line     []byte // current line
	head     []byte // start of a stack's heading
	out      bytes.Buffer
	writeErr error
	account  Account
	rate     rate
}

func (f *follower) wantsStacks() bool { return f.opts.Stacks.User || f.opts.Stacks.Kernel }

func (f *follower) wantsProcesses() bool {
	return f.wantsStacks() || slices.ContainsFunc(f.places, places.inFiles)
}

// samplings returns one sampling per source, then those of Aside.
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
func (f *follower) follow(ctx context.Context, source engine.Source) (Account, error) {
	opts := engine.Options{
		NoProcesses: !f.wantsProcesses(), Unwind: f.opts.Stacks.User, Names: true,
		Duration: f.opts.Duration, Spool: spoolBytes, Unordered: f.opts.Seen, Logger: f.opts.Logger,
	}
	if f.opts.Stacks.Interpreted {
		opts.Calls = &engine.Calls{Frequency: atsample.MaxVisitRate}
		opts.Spool *= 2 // hits wait until their interpreted calls are read
		f.throttle = atsample.NewWakeupThrottle(f.samplings(), nil, 0)
	}
	e, err := engine.Start(ctx, source, opts)
	if err != nil {
		return Account{}, err
	}
	defer e.Close()
	f.engine = e
	if f.wantsStacks() {
		symbolizer := symbolize.New(symbolize.Options{CachePerfMaps: true, Late: e.Late(), Host: source.Host(), Logger: f.opts.Logger})
		defer symbolizer.Close() // an error does not matter: the debug files were only read
		f.stacks = newStacks(f.opts.Stacks, e.Processes(), symbolizer)
		if e.Calls() != nil {
			f.stacks.store.ReadAtSamples(e.Calls())
		}
		e.Prepare(f.stacks.store.Prepare)
	}
	if err := e.Enable(); err != nil {
		return Account{}, err
	}
	if f.opts.Armed != nil {
		f.opts.Armed()
	}
	err = e.Run(f)
	f.flush()
	if f.stacks != nil {
		f.account.Cut, f.account.Calls, f.account.notes = f.stacks.cut, f.stacks.calls, f.stackNotes()
	}
	if err == nil {
		err = f.writeErr
	}
	var accountErr error
	f.account.Account, accountErr = source.Account()
	if n := len(f.opts.Sources); len(f.account.Events) > n {
		f.account.Events = f.account.Events[:n] // without Aside
	}
	return f.account, errors.Join(err, accountErr)
}

// Record shows a hit.
func (f *follower) Record(record perfevent.Record) error {
	sample, ok := record.(*perfevent.Sample)
	if !ok || sample.Sampling >= len(f.opts.Sources) {
		return nil // no hit, or of Aside
	}
	f.hits++
	calls := f.engine.Calls()
	if sample.PID == f.self || sample.PID == f.opts.Helper && sample.PID != 0 || calls != nil && calls.IsHelper(sample.PID) {
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
		f.engine.End()
	}
	if f.out.Len() >= outBytes {
		f.flush()
	}
	return f.writeErr
}

// stackNotes returns notes on how well interpreted calls are known, and why some are unknown.
func (f *follower) stackNotes() (notes []string) {
	if calls := f.engine.Calls(); calls != nil {
		notes = calls.Notes(f.stacks.calls)
	}
	for _, err := range f.stacks.errors() {
		notes = append(notes, err.Error())
	}
	return notes
}

// outBytes is how many bytes of output are collected before they are written.
const outBytes = 64 << 10

// unknown replaces the name of a thread if it is unknown, as in the kernel's trace.
var unknown = []byte("<...>")

// show appends the line of a sample, and its stacks, to the output.
func (f *follower) show(sample *perfevent.Sample) {
	source := &f.opts.Sources[sample.Sampling]
	format := source.Format
	if p := f.places[sample.Sampling]; p != nil {
		format = p.format(f.engine.Processes(), sample, format)
	}
	comm := f.engine.Names().Name(sample.TID)
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

// Round writes the collected output.
func (f *follower) Round(before uint64) error {
	f.flush()
	if f.writeErr != nil {
		return f.writeErr
	}
	if calls := f.engine.Calls(); calls != nil {
		f.throttle.Adjust(calls, atsample.Hits{All: f.hits}, before)
	}
	return f.rate.check(before, f.account.Shown+f.account.Own+f.account.Filtered+f.account.Unread)
}

// flush writes the output. Its error is in writeErr.
func (f *follower) flush() {
	if f.out.Len() > 0 && f.writeErr == nil {
		_, f.writeErr = f.opts.Out.Write(f.out.Bytes())
	}
	f.out.Reset()
}
