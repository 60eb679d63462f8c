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
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/symbolize"
	"github.com/ringtap/ringtap/perfevent"
)

// Options is what a run does.
type Options struct {
	Target   perfevent.Target
	Sources  []probe.Source
	Stacks   stack.Stacks           // that are shown after each line; the zero value shows none
	Duration time.Duration          // 0: until the context is done or the target has ended
	Seen     func(perfevent.Record) // see perfevent.Reader.Unordered
	MaxRate  uint64                 // hits a second at which the run ends, with a *RateError; 0: none
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
	Shown   uint64
	Own     uint64 // ringtap's own, which are not shown
	Lost    uint64 // that did not fit in a ring
	Counted uint64 // the kernel's own count of hits
	Exact   bool   // all hits were to be recorded, and the kernel says what was lost
	Cut     uint64 // shown ones whose user stack was cut short
}

// spoolBytes is how much may wait while the output takes nothing.
const spoolBytes = 64 << 20

// Run follows the events until the context is done, the duration is over, the
// target has ended, Out fails or events come too fast. The error is the
// *perfevent.OpenError of an event that can't be opened, Out's, or a *RateError. When Run returns, the events are closed.
func Run(ctx context.Context, o Options) (Account, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := &follower{opts: o, self: uint32(os.Getpid()), names: process.NewNames(process.Host{}), rate: rate{max: o.MaxRate}}
	for i := range o.Sources {
		source := &o.Sources[i]
		printer, err := printfmt.New(source.Format, o.Printing)
		if err != nil {
			return Account{}, fmt.Errorf("print format of %s: %w", source.Format.Name, err)
		}
		f.printers = append(f.printers, printer)
		f.places = append(f.places, newPlaces(source))
	}
	opts := perfevent.Options{Logger: o.Logger, NoBuffering: o.Seen != nil}
	if !f.wantsProcesses() {
		opts.SideBand = perfevent.SideBandNames
	}
	session, err := perfevent.Open(o.Target, f.samplings(), opts)
	if err != nil {
		return Account{}, err
	}
	defer session.Close()
	if f.wantsProcesses() {
		f.processes = process.NewTable(process.Options{Unwind: o.Stacks.User, Logger: o.Logger})
		defer f.processes.Close()
		if err := f.processes.Snapshot(session.Processes()...); err != nil {
			return Account{}, fmt.Errorf("read the running processes: %w", err)
		}
	}
	if f.wantsStacks() {
		symbolizer := symbolize.New(symbolize.Options{Brief: true, Logger: o.Logger})
		defer symbolizer.Close() // the debug files were only read
		f.stacks = newStacks(o.Stacks, f.processes, symbolizer)
	}
	return f.follow(ctx, session)
}

// follower is a run under way.
type follower struct {
	opts     Options
	self     uint32
	printers []*printfmt.Printer // of each source
	names    *process.Names
	// processes is nil if neither stacks nor places are shown.
	processes *process.Table
	stacks    *stacks // nil if none are shown
	places    []places

	raw      []byte // that Source.Record made
	line     []byte // under way
	head     []byte // of the lines of a stack
	out      bytes.Buffer
	writeErr error
	account  Account
	rate     rate
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
			f.opts.Stacks.Ask(&s)
		}
		f.opts.Sources[i].AskRecord(&s)
		samplings = append(samplings, s)
	}
	return samplings
}

func (f *follower) follow(ctx context.Context, session *perfevent.Session) (Account, error) {
	snapshot := sync.OnceFunc(func() { f.names.Snapshot(session.Processes()...) })
	if len(session.Processes()) > 0 {
		snapshot() // before a command that was started runs, and runs another program
	}
	if err := session.Enable(); err != nil {
		return Account{}, err
	}
	if f.opts.Armed != nil {
		f.opts.Armed()
	}
	if f.opts.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.opts.Duration)
		defer cancel()
	}
	// The names of a whole system are read at once, before their threads end, and
	// while the rings are read: the first record waits for them.
	go snapshot()
	reader := perfevent.Reader{Round: f.round, Spool: spoolBytes, Unordered: f.opts.Seen}
	err := reader.Read(ctx, session, func(record perfevent.Record) error {
		snapshot()
		return f.handle(record)
	})
	snapshot()
	f.flush()
	if f.stacks != nil {
		f.account.Cut = f.stacks.cut
	}
	if err == nil {
		err = f.writeErr
	}
	return f.account, errors.Join(err, f.close(session))
}

// handle takes one record.
func (f *follower) handle(record perfevent.Record) error {
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		f.names.Handle(record)
		if f.processes != nil {
			f.processes.Handle(record)
		}
		return nil
	}
	if sample.PID == f.self {
		f.account.Own++
		return nil
	}
	f.account.Shown++
	f.show(sample)
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
	if source.Record != nil {
		f.raw = source.Record(f.raw[:0], sample)
		sample.Raw = f.raw
	}
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

// round writes what has come together: see perfevent.Reader.Round.
func (f *follower) round(before uint64) {
	f.flush()
	if err := f.rate.check(before, f.account.Shown+f.account.Own); err != nil && f.writeErr == nil {
		f.writeErr = err
	}
}

// flush writes the output; its error is noted and ends the run with the next
// record.
func (f *follower) flush() {
	if f.out.Len() > 0 && f.writeErr == nil {
		_, f.writeErr = f.opts.Out.Write(f.out.Bytes())
	}
	f.out.Reset()
}

// close closes the books.
func (f *follower) close(session *perfevent.Session) error {
	accounts, err := session.Accounts()
	if err != nil {
		return err
	}
	f.account.Exact = true
	for _, a := range accounts {
		f.account.Lost += a.Lost
		f.account.Counted += a.Counted
		f.account.Exact = f.account.Exact && a.Exact
	}
	return nil
}
