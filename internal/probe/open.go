package probe

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/uprobe"
)

// Calls says whether calls are traced from their entry to their return.
type Calls uint8

// The kinds of calls.
const (
	// NoCalls attaches to the places that the spec names.
	NoCalls Calls = iota
	// TimedCalls attaches to the entries and the returns of functions, and keeps functions
	// apart. It leaves out functions whose returns can't be probed.
	TimedCalls
	// AllCalls does the same, but many functions share an event. Functions whose returns can't
	// be probed are only hit at their entry.
	AllCalls
)

// Sharing says which places share an event, if their records have the same fields. The kernel
// takes long to open and close an event, no matter how many places it has.
type Sharing uint8

// The kinds of sharing. They do not apply to calls.
const (
	ShareMany Sharing = iota // share if there are more than manyPlaces
	ShareAll
	ShareNone
)

// manyPlaces is the largest number of places that get one event each.
const manyPlaces = 8

// Options configure Open.
type Options struct {
	Target perfevent.Target // what the perf session will watch
	View   View             // the processes whose view of files is used
	Filter string           // for the kernel, over the fields of the events; "" for none
	Limit  int              // maximum number of places for a pattern; 0 is the default of uprobe and kprobe
	Exact  bool             // see uprobe.Options
	Force  bool             // see kprobe.Options
	Method kprobe.Method    // how kernel functions are probed
	// UserStacks is set if samples will have user stacks: see kprobe.AttachOptions.
	UserStacks bool
	// PMU allows perf's own events instead of those of tracefs, if they serve as well: see
	// uprobe.AttachOptions.PerSampling.
	PMU     bool
	Sharing Sharing
	Calls   Calls
	// Values is set if the value of the spec's only argument matters: see Set.Value. The
	// argument is signed unless its type says otherwise, so that errors are negative.
	Values bool
	// Counts is set if the events are counted and not sampled.
	Counts bool
	Logger *slog.Logger // nil discards messages
}

// Set is the result of attaching to one or more specs.
type Set struct {
	Sources []Source
	// Functions are the names of functions, marks or tracepoints. For calls there is one for
	// each function; otherwise one for each place.
	Functions []string
	// Notes are sentences for the user: what can't be traced, or what was understood
	// differently from what the spec may have meant.
	Notes []string
	// Value is the field with the argument, with Options.Values.
	Value string
	// AtEntry is true if at all places that are hit or entered the function's frame is not set
	// up yet: see uprobe.Site.Entry.
	AtEntry bool
	// Definition is the resolved definition in perf-tools' form: see uprobe.Plan.String.
	Definition string
	// Placement has a line for each place in user code: its address, and why it is there.
	Placement []string

	options Options
	kprobes []*kprobe.Attachment
	hits    func() ([]uint64, error) // of each place; nil if no places share an event
	places  []uint64                 // addresses or file offsets of the places that hits counts
	numbers map[string]int           // indexes in Functions, by name
	untimed []string                 // functions whose returns can't be probed
	why     string                   // why they can't be probed; "" for the usual reason
	closers []func() error
}

// Open attaches to the places that a spec names. The caller must close the Set, after the perf
// session that opens its sources.
//
// The Set is never nil. After an error it is closed; its Notes are those added before. The
// error is one from Resolve or Attach of packages uprobe and kprobe, a *TracepointError, or
// ErrNoReturns.
func Open(spec *Spec, o Options) (*Set, error) { return OpenAll([]*Spec{spec}, o) }

// OpenAll attaches to the places of several specs, as one Set. See Open.
func OpenAll(specs []*Spec, o Options) (*Set, error) {
	return open(o, func(s *Set) error {
		for _, spec := range specs {
			if err := s.attach(spec); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Set) attach(spec *Spec) error {
	switch {
	case spec.Place == Tracepoint:
		return s.tracepoints(spec.Probe)
	case spec.Place == Kernel && s.options.Calls != NoCalls:
		return s.kernelCalls(spec)
	case spec.Place == Kernel:
		return s.kernelHits(spec)
	case s.options.Calls != NoCalls:
		return s.userCalls(spec)
	}
	return s.userHits(spec)
}

// OpenPlan attaches to the places of a plan, which the caller still owns. See Open.
func OpenPlan(plan *uprobe.Plan, o Options) (*Set, error) {
	return open(o, func(s *Set) error {
		_, err := s.attachUser(plan, s.shares(len(plan.Sites)))
		return err
	})
}

func open(o Options, attach func(*Set) error) (*Set, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Set{options: o}
	if err := attach(s); err != nil {
		return s, errors.Join(err, s.Close())
	}
	return s, nil
}

// shares reports whether that many places share an event.
func (s *Set) shares(places int) bool {
	return s.options.Sharing == ShareAll || s.options.Sharing == ShareMany && places > manyPlaces
}

// add adds the sources for the events and returns them. If there are fewer events than places,
// place must return the address and name of place i.
func (s *Set) add(events []perfevent.Event, formats []*ftrace.Format, filter string, places int, place func(i int) (uint64, PlaceName)) []Source {
	var named map[uint64]PlaceName
	if len(events) < places {
		named = make(map[uint64]PlaceName, places)
		for i := range places {
			at, of := place(i)
			named[at] = of
			s.places = append(s.places, at)
		}
	}
	first := len(s.Sources)
	for i, event := range events {
		s.Sources = append(s.Sources, Source{Event: event, Filter: filter, Format: formats[i], Places: named})
	}
	return s.Sources[first:]
}

// perSampling returns the number of perf events per place if perf's own events may be used,
// otherwise 0.
func (s *Set) perSampling() int {
	if s.options.PMU {
		return s.options.Target.PerSampling()
	}
	return 0
}

// note adds a note, unless it is there already.
func (s *Set) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.Notes, text) {
		s.Notes = append(s.Notes, text)
	}
}

// Timed reports whether the Set traces returns of calls.
func (s *Set) Timed() bool {
	return slices.ContainsFunc(s.Sources, func(e Source) bool { return e.Role == Return })
}

// Shared reports whether places share an event. Then only Hits can count them separately
// without samples.
func (s *Set) Shared() bool { return s.hits != nil }

// Hits returns how often each of the Functions was hit, in their order, by any process. Call it
// only on a Set of one file, or of the kernel, that is Shared.
func (s *Set) Hits() ([]uint64, error) { return s.hits() }

// Places returns the places that Hits counts, in the form of the keys of Source.Places.
func (s *Set) Places() []uint64 { return s.places }

// Missed returns how many hits the kernel itself dropped: in functions called by its own probe
// handling, and returns when too many calls were in progress.
func (s *Set) Missed() (sum uint64, err error) {
	for _, a := range s.kprobes {
		missed, err := a.Missed()
		if err != nil {
			return 0, err
		}
		for _, n := range missed {
			sum += n
		}
	}
	return sum, nil
}

// ExplainFilter returns why the kernel rejected a tracepoint's filter, as a
// *ftrace.FilterError, if err says that it did. Otherwise it returns err.
func (s *Set) ExplainFilter(err error) error {
	if !errors.Is(err, perfevent.ErrFilter) {
		return err
	}
	tracefs, _, mountErr := ftrace.Mount()
	if mountErr != nil {
		return err
	}
	for i := range s.Sources {
		f, filter := s.Sources[i].Format, s.options.Filter
		if s.Sources[i].Keep != nil {
			filter = s.Sources[i].Filter // the part of the filter for the kernel
		}
		if why := tracefs.ExplainFilter(f.System, f.Name, filter); why != nil {
			return why
		}
	}
	return err
}

// SayMissed writes how many hits the kernel itself dropped, if any; see Missed.
func (s *Set) SayMissed(w io.Writer) error {
	missed, err := s.Missed()
	if missed > 0 {
		fmt.Fprintf(w, "the kernel missed %d hits: it was handling another probe, or too many calls were in progress at once\n", missed)
	}
	return err
}

// WriteFormats writes the kernel's format files of the sources.
func (s *Set) WriteFormats(w io.Writer) error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	for i := range s.Sources {
		format := s.Sources[i].Format
		text, err := tracefs.FormatText(format.System, format.Name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s", text); err != nil {
			return err
		}
	}
	return nil
}

// Release closes the Set at the end of a run. If a probe can't be removed, it writes that to w.
func (s *Set) Release(w io.Writer) {
	if err := s.Close(); err != nil {
		fmt.Fprintln(w, "ringtap: could not remove these probes:", err)
	}
}

// Close removes the events. Close the perf session that has them open first.
func (s *Set) Close() error {
	var errs []error
	for _, closer := range slices.Backward(s.closers) {
		errs = append(errs, closer())
	}
	s.closers = nil
	return errors.Join(errs...)
}
