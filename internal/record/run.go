package record

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Options configures a recording.
type Options struct {
	Target perfevent.Target
	Events []Event
	// Frequency is how many samples a second and CPU are taken. If it is 0, Period is the number of
	// events from one sample to the next.
	Frequency, Period uint64
	// EachHit samples each hit of a tracepoint or a probe, whatever Frequency and Period are.
	EachHit bool
	// Stacks says which stacks samples have. User stacks are unwound while the recording goes on.
	Stacks stack.Stacks
	// NoUnwind writes the registers and the copies of user stacks instead, for other tools to unwind.
	NoUnwind bool
	// NoNames leaves out the names that can be found in files: see perfdata.SymbolTable.
	NoNames bool
	// Create starts the recording.
	Create   func([]perfdata.Event, perfdata.WriteOptions) (*perfdata.Writer, error)
	Level    int           // of zstd; 0: records are not packed
	MaxBytes int64         // the recording ends at about this size; 0: never
	Duration time.Duration // 0: until the context is done or the target has ended
	Command  []string      // ringtap's own command line
	Version  string        // the recorder's name and version
	Enabled  func() error  // called when the events record; may be nil
	Progress func(Progress)
	Logger   *slog.Logger
}

// Progress is how far a recording is.
type Progress struct {
	Samples uint64
	Bytes   int64 // of records in the file
}

// Result is the outcome of a recording.
type Result struct {
	Account engine.Account
	Cut     uint64 // stacks that end before their outermost function
	Bytes   int64  // of records in the file
	Full    bool   // Options.MaxBytes ended it
	Notes   []string
	Details []string // how the functions of interpreters were read
}

// maxDelay is how long records may wait in the rings if interpreted code may be read: the sooner ringtap
// learns of an interpreter, the fewer samples lack its functions.
const maxDelay = 20 * time.Millisecond

// spoolBytes is how many bytes of records may wait while ringtap unwinds and writes.
const spoolBytes = 64 << 20

// Run records until ctx is done, the duration is over, the target has ended or the file is full. If an
// event cannot be opened, the error is a *perfevent.OpenError, and nothing was created.
func Run(ctx context.Context, opts Options) (*Result, error) {
	if opts.Progress == nil {
		opts.Progress = func(Progress) {}
	}
	result := &Result{}
	samplings, rings := opts.samplings(), perfevent.Options{Logger: opts.Logger}
	if opts.NoUnwind {
		rings.SideBand = perfevent.SideBandData
	}
	if opts.visits() > 0 {
		rings.SharedRings, rings.MaxDelay = true, maxDelay
	}
	live, err := engine.Open(opts.Target, samplings, rings)
	if errors.Is(err, perfevent.ErrKernelExcluded) {
		result.Notes = append(result.Notes, "only user code is recorded: this user may not record the kernel (kernel.perf_event_paranoid)")
		for i := range samplings {
			samplings[i].ExcludeKernel, samplings[i].Callchain.Kernel = true, false
		}
		live, err = engine.Open(opts.Target, samplings, rings)
	}
	if err != nil {
		return nil, err
	}
	defer live.Close()
	starting := engine.Options{Unwind: !opts.NoUnwind && opts.Stacks.User, Duration: opts.Duration, Spool: spoolBytes, Logger: opts.Logger}
	if n := opts.visits(); n > 0 {
		starting.Calls = &engine.Calls{Frequency: n}
	}
	e, err := engine.Start(ctx, live, starting)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	s, err := opts.begin(live, e, samplings)
	if err != nil {
		return nil, err
	}
	s.full = func() { result.Full = true; e.End() }
	if s.store != nil {
		e.Prepare(s.store.Prepare)
	}
	if err := e.Enable(); err != nil {
		return nil, errors.Join(err, s.end())
	}
	if opts.Enabled != nil {
		if err := opts.Enabled(); err != nil {
			return nil, errors.Join(err, s.end())
		}
	}
	err = e.Run(s)
	if calls := e.Calls(); calls != nil {
		result.Details = calls.Notes(s.calls)
	}
	s.last.Symbols = s.functions.tables // without them, nobody could name these
	if err == nil && s.names != nil {
		s.last.Symbols = append(s.names.tables(e.Processes(), e.Late(), opts.Logger), s.last.Symbols...)
		if note := s.names.note(); note != "" {
			result.Notes = append(result.Notes, note)
		}
	}
	if end := s.end(); err == nil {
		err = end
	}
	if err != nil {
		return nil, err // also of a full disk, which end returns once more
	}
	result.Account, err = live.Account()
	result.Cut, result.Bytes = s.cut, s.writer.Written()
	return result, err
}

// samplings returns the samplings of the events.
func (o *Options) samplings() []perfevent.Sampling {
	var all []perfevent.Sampling
	for i := range o.Events {
		e := &o.Events[i]
		s := perfevent.Sampling{Event: e.Event, ExcludeIdle: e.Event == perfevent.CPUClock(), PreciseIP: e.Precise}
		if e.source != nil {
			s = e.source.Sampling()
			e.source.PrepareRecord(&s)
		}
		s.Period, s.Frequency, s.Filter = o.Period, o.Frequency, e.Filter
		s.ExcludeUser, s.ExcludeKernel = e.ExcludeUser, e.ExcludeKernel
		if o.eachHit(e) {
			s.Period, s.Frequency = 1, 0
		}
		s.ByCPU = s.Period != 1
		stacks := o.stacksOf(e)
		if o.NoUnwind && stacks.Unwind == stack.Auto {
			stacks.Unwind = stack.DWARF // perf would show the kernel's walk and its own, one after the other
		}
		stacks.Prepare(&s)
		if o.NoUnwind && stacks.Unwind == stack.FP {
			s.UserRegs, s.UserStack = 0, 0 // readers would unwind the copy
		}
		all = append(all, s)
	}
	return all
}

// eachHit reports whether each hit of an event is a sample.
func (o *Options) eachHit(e *Event) bool {
	return o.EachHit && e.HasFields() || o.Frequency == 0 && o.Period == 1
}

// stacksOf returns the stacks of an event's samples.
func (o *Options) stacksOf(e *Event) stack.Stacks {
	stacks := o.Stacks
	stacks.Entry = e.entry
	switch {
	case o.eachHit(e):
		stacks.Budget = copyBudget
		return stacks.Copying(stack.RareCopy)
	case o.Frequency > 0 && !o.NoUnwind:
		// On a whole host that compiles, reading deep stacks would cost more than all the rest.
		stacks.Interpreted, stacks.Beyond = stacks.User, stacks.User && len(o.Target.PIDs()) > 0
	}
	return stacks
}

// visits returns at how many samples a second and CPU ringtap may have to read the calls of interpreted
// code, and stacks beyond their copies; 0 if at none.
func (o *Options) visits() uint64 {
	for i := range o.Events {
		if o.stacksOf(&o.Events[i]).Interpreted {
			return o.Frequency
		}
	}
	return 0
}

// begin starts the recording, and writes what there is before its first record.
func (o *Options) begin(live *engine.Live, e *engine.Engine, samplings []perfevent.Sampling) (*sink, error) {
	events := o.recorded(live.Events())
	tracing, err := tracingData(o.Events)
	if err != nil {
		return nil, err
	}
	s := &sink{events: events, processes: e.Processes(), locked: e.Locked, limit: o.MaxBytes, progress: o.Progress, files: newFiles(e.Processes().Objects())}
	if !o.NoUnwind && (o.Stacks.User || o.Stacks.Kernel) {
		s.store = stack.NewStore(e.Processes(), nil)
		if calls := e.Calls(); calls != nil {
			s.store.ReadAtSamples(calls)
		}
		for i := range o.Events {
			s.stackers = append(s.stackers, s.store.Stacker(o.stacksOf(&o.Events[i])))
		}
		s.growth = o.newGrowth(live, samplings)
		s.addresses.objects, s.functions = e.Processes().Objects(), newFunctions(s.store.Function)
	}
	if !o.NoNames {
		s.names = newNames()
		e.Processes().Hold(s.names.hold)
	}
	if s.encoder, err = perfdata.NewEncoder(events); err != nil {
		return nil, err
	}
	s.writer, err = o.Create(events, perfdata.WriteOptions{Info: machine(live.Host(), o.Command, o.Version), TracingData: tracing, Level: o.Level})
	if err != nil {
		return nil, err
	}
	err = writeKernel(live.Host(), s.write)
	if err == nil {
		err = writeProcesses(live.Host(), live.Processes(), o.NoUnwind, s.write)
	}
	if err == nil {
		err = s.writer.Flush()
	}
	if err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

// recorded returns the events as the file has them. opened are the session's.
func (o *Options) recorded(opened []perfevent.EventAttr) []perfdata.Event {
	events := make([]perfdata.Event, len(o.Events))
	for i := range events {
		e := perfdata.Event{EventAttr: opened[i], Name: o.Events[i].Name}
		if !o.NoUnwind {
			e.Attr.Sample_type &^= unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER
			e.Attr.Sample_regs_user, e.Attr.Sample_stack_user = 0, 0
			if o.Stacks.User {
				e.Attr.Sample_type |= unix.PERF_SAMPLE_CALLCHAIN
				e.Attr.Bits &^= unix.PerfBitExcludeCallchainUser
			}
		}
		if i == 0 { // it stands for the side-band's event
			e.Attr.Bits |= unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask
			if o.NoUnwind {
				e.Attr.Bits |= unix.PerfBitMmapData
			}
		}
		events[i] = e
	}
	return events
}

// tracingData returns what readers need to print the fields of tracepoints, or nil without any.
func tracingData(events []Event) ([]byte, error) {
	var t perfdata.Tracing
	for i := range events {
		if !events[i].HasFields() {
			continue
		}
		format := events[i].source.Format
		fs, _, err := ftrace.Mount()
		if err != nil {
			return nil, err
		}
		if t.Formats == nil {
			if t.Page, t.Event, t.Strings, err = fs.RecordTexts(); err != nil {
				return nil, err
			}
		}
		text, err := fs.FormatText(format.System, format.Name)
		if err != nil {
			return nil, err
		}
		system, _, _ := strings.Cut(events[i].Name, ":") // of a probe, not the name that it has now
		t.Formats = append(t.Formats, perfdata.EventFormat{System: system, Text: text})
	}
	if t.Formats == nil {
		return nil, nil
	}
	return t.Bytes(), nil
}

// end writes the last sections and closes the file.
func (s *sink) end() error {
	s.last.BuildIDs = s.files.ids
	if err := s.writer.Close(s.last); err != nil {
		return fmt.Errorf("end the recording: %w", err)
	}
	return nil
}

var (
	_ engine.Rounded = (*sink)(nil)
	_ engine.Early   = (*sink)(nil)
)
