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

// Calls says whether calls are seen from their entry to their return.
type Calls uint8

// The kinds of calls.
const (
	// NoCalls attaches to the places that the spec names.
	NoCalls Calls = iota
	// TimedCalls attaches to the entries and the returns of functions, and tells
	// functions apart. It leaves out functions whose returns can't be probed.
	TimedCalls
	// AllCalls does so too, but functions share an event if there are many, and
	// those whose returns can't be probed are hit at their entry.
	AllCalls
)

// Sharing says which places share an event, if their records have the same fields. An
// event takes the kernel long to open and to close, at however many places it is.
type Sharing uint8

// The kinds of sharing. They do not matter to calls.
const (
	ShareMany Sharing = iota // those of more than manyPlaces
	ShareAll
	ShareNone
)

// manyPlaces is from how many places on they share an event.
const manyPlaces = 8

// Options say what the sources of a spec are for.
type Options struct {
	Target perfevent.Target // what the perf session will watch
	View   View             // how files are found
	Filter string           // over the fields of the events, for the kernel; "" for none
	Limit  int              // the most places that a pattern may stand for; 0 is the default of uprobe and kprobe
	Exact  bool             // see uprobe.Options
	Force  bool             // see kprobe.Options
	Method kprobe.Method    // how the kernel's functions are probed
	// UserStacks says that user stacks will be asked for: see kprobe.AttachOptions.
	UserStacks bool
	// PMU lets perf's own events stand in for those of tracefs, where they serve as
	// well: see uprobe.AttachOptions.PerSampling.
	PMU     bool
	Sharing Sharing
	Calls   Calls
	// Values says that the spec's only argument is what matters: see Set.Value. It
	// has a sign unless its type says otherwise, so that errors are below zero.
	Values bool
	// Counts says that the events are counted and not sampled.
	Counts bool
	Logger *slog.Logger // nil discards
}

// Set is a spec that is attached.
type Set struct {
	Sources []Source
	// Functions are the names of functions, marks or tracepoints: of calls those
	// that are told apart, else one for each place.
	Functions []string
	// Notes are sentences that the user should read: what was understood
	// differently from what the spec may have meant, or can't be seen.
	Notes []string
	// Value is the field that has the argument, with Options.Values.
	Value string
	// AtEntry says that at each place that is hit or entered the function's frame
	// is not set up yet: see uprobe.Site.Entry.
	AtEntry bool
	// Definition is what was found, as perf-tools shows it: see uprobe.Plan.String.
	Definition string
	// Placement has a line for each place in user code: where it is, and why there.
	Placement []string

	options Options
	kprobes []*kprobe.Attachment
	hits    func() ([]uint64, error) // of each place; nil unless places share an event
	places  []uint64                 // where these are
	numbers map[string]int           // of functions that are told apart, in Functions
	untimed []string                 // functions whose returns can't be seen
	why     string                   // of all of these; "" for the usual reason
	closers []func() error
}

// Open attaches to what a spec names. The caller closes the Set, after the perf
// session that opens its sources.
//
// The Set is never nil. After an error it is closed, and its Notes are those up to
// there. The error is one of Resolve or Attach of packages uprobe and kprobe, a
// *TracepointError, or ErrNoReturns.
func Open(spec *Spec, o Options) (*Set, error) { return OpenAll([]*Spec{spec}, o) }

// OpenAll attaches to what several specs name, as one Set. See Open.
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

// attach attaches to what a spec names.
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

// OpenPlan attaches to the places of a plan, which stays the caller's. See Open.
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

// shares tells whether so many places share an event.
func (s *Set) shares(places int) bool {
	return s.options.Sharing == ShareAll || s.options.Sharing == ShareMany && places > manyPlaces
}

// add adds the sources of so many places, and returns them. Where there are fewer
// events than places, place says where each is and what it is.
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

// perSampling is the number of perf events for each place, if that lets them be perf's own.
func (s *Set) perSampling() int {
	if s.options.PMU {
		return s.options.Target.PerSampling()
	}
	return 0
}

// note adds a note, once.
func (s *Set) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.Notes, text) {
		s.Notes = append(s.Notes, text)
	}
}

// Timed tells whether there are calls whose returns are seen.
func (s *Set) Timed() bool {
	return slices.ContainsFunc(s.Sources, func(e Source) bool { return e.Role == Return })
}

// Shared tells whether places share an event, so that only Hits tells them apart
// without looking at samples.
func (s *Set) Shared() bool { return s.hits != nil }

// Hits returns how often each of the Functions was hit, in their order, whoever hit
// it. It is for a Set of one file, or of the kernel, that is Shared.
func (s *Set) Hits() ([]uint64, error) { return s.hits() }

// Places returns where each of what Hits counts is: see Source.Places.
func (s *Set) Places() []uint64 { return s.places }

// Missed returns how many hits the kernel itself left out: of functions that its
// handling of probes calls, and of returns when too many calls were under way.
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

// ExplainFilter returns why the kernel refused the filter of a tracepoint, as a
// *ftrace.FilterError, if err says that it did; else err.
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
			filter = s.Sources[i].Filter // what is left of it for the kernel
		}
		if why := tracefs.ExplainFilter(f.System, f.Name, filter); why != nil {
			return why
		}
	}
	return err
}

// SayMissed writes how many hits the kernel itself left out, if there are any; see Missed.
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

// Release closes the Set at the end of a run, and writes what stays behind.
func (s *Set) Release(w io.Writer) {
	if err := s.Close(); err != nil {
		fmt.Fprintln(w, "ringtap: could not remove these probes:", err)
	}
}

// Close removes the events. The perf session that has them open must be closed
// before.
func (s *Set) Close() error {
	var errs []error
	for _, closer := range slices.Backward(s.closers) {
		errs = append(errs, closer())
	}
	s.closers = nil
	return errors.Join(errs...)
}
