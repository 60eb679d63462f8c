package live

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/internal/readmem/syscalltext"
	"github.com/ringtap/ringtap/internal/readmem/usertext"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/uprobe"
)

// Options say how a program is attached.
type Options struct {
	Target perfevent.Target
	View   probe.View // how files are found
	Near   bool       // a helper may read memory: see syscalltext.Options; also for functions of interpreted code
	Books  bool       // Account.Probes also counts the hits that the kernel has filtered out
	Nested bool       // this process is in a PID namespace below the first one
	// Task follows path from the task_struct of a thread that hit a probe at timestamp, and returns as
	// many of the size bytes there as can be read. If path is empty, it returns the bytes of the
	// struct's address. It returns false if the thread is gone. Nil if no event asks for plan.Task.
	Task   func(tid uint32, timestamp uint64, path []check.Step, size int) (b []byte, ok bool)
	Logger *slog.Logger // nil discards
}

// Attachment holds the attached events of a program. Nothing is traced until Run.
type Attachment struct {
	Notes []string // sentences that the user should read
	// Unfiltered says which events the kernel does not filter, or filters only in part, and why.
	Unfiltered []string

	program  *check.Program
	commutes bool // the order of hits does not matter to the program
	// aggregates says that clauses at events only aggregate: see plan.Aggregates.
	aggregates bool
	options    Options
	sources    []*source
	counted    []*counted
	sets       []attachedSet
	pointees   *pointeeReader          // nil if no clause follows a pointer field of a tracepoint
	iterated   *iterated               // nil if no clause takes arguments of raw tracepoints
	texts      *syscalltext.Attachment // nil if no clause takes a system call's text
	texted     int                     // number of sources with texts, which are the first ones
	// userTexts is nil if no user probe fetches a text.
	userTexts   *usertext.Attachment
	extraEvents []perfevent.Sampling

	// Set by Run, valid until Close.
	source                         io.Closer
	engine                         *engine.Engine
	symbolizer                     *symbolize.Symbolizer
	stacks                         *stacks
	argCache                       argCache
	reader                         *athit.Reader // of the processes' memory that clauses read
	kernelFunctions, userFunctions functions
}

// attachedSet has the probes that were attached for one event.
type attachedSet struct {
	*probe.Set
	name string // the event's first attach point
}

// source is one sampling and the clauses that run at its hits.
type source struct {
	event     *plan.Event
	probe     *probe.Source // nil for a sampled event
	sample    perfevent.Sampling
	stacks    stack.Stacks
	stacker   *stack.Stacker // set by Run
	copies    stack.GrowthCounts
	early     bool // see markEarly
	uses      []use
	reads     []athit.Pointer            // reads of the process's memory, for the uses
	here      []piece                    // memory in the records, for reads at the same hit
	pieces    []piece                    // memory in the records, for reads at later hits
	places    map[uint64]probe.PlaceName // names of the probed places; nil if all hits are called name
	name      string                     // of the function
	calls     *calls                     // of a function's entry: keeps its records; nil if no return asks for them
	entry     *source                    // of a return: the entry whose record it asks for, or nil
	probed    *probed                    // the event probe on the tracepoint, or nil
	parents   bool                       // clauses ask for the parent of the hit's process
	repeats   *repeats                   // set by Run; nil if the kernel can't count equal hits
	exclusion *threadExclusion           // set by Run; nil if no thread can be excluded
	// everybody says that hits in this process may be about another process: see ofEverybody.
	everybody bool
}

// ofEverybody reports whether a process may hit the tracepoints of a system without being their
// subject: in an interrupt, or in the switch to another thread. So ringtap's own hits of them may be
// about another process, and clauses see them. Hits of other systems are about the process that hits.
func ofEverybody(system string) bool {
	switch system {
	case "block", "irq", "irq_vectors", "napi", "net", "nvme", "oom", "power", "sched", "scsi", "skb", "sock", "tcp", "timer",
		"udp", "workqueue":
		return true
	}
	return false
}

// systemOf returns the system of a source's tracepoint, or "" if it has none.
func systemOf(event *plan.Event, s *probe.Source) string {
	system, _, _ := strings.Cut(event.Iterates, ":")
	if event.Place == plan.Tracepoint {
		system = s.Format.System
	}
	return system
}

// Attach attaches the events of a program. The caller closes the Attachment. If an event can't be
// attached, the error is a *syntax.Error at its attach point.
func Attach(program *check.Program, events []*plan.Event, o Options) (*Attachment, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Attachment{program: program, commutes: plan.Commutes(program), aggregates: plan.Aggregates(program), options: o}
	if err := a.attachAll(events); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.filterSources()
	if err := a.attachTexts(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.attachPointees(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.attachIterated(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.attachUserTexts()
	a.joinEntries()
	for _, s := range a.all() {
		if err := a.prepare(s); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	return a, nil
}

// all returns the sources, including those whose hits the kernel counts.
func (a *Attachment) all() []*source {
	all := slices.Clone(a.sources)
	for _, c := range a.counted {
		all = append(all, c.source)
	}
	return all
}

// prepare sets the uses and the pieces of a source.
func (a *Attachment) prepare(s *source) error {
	for _, u := range s.event.Uses {
		use, err := a.use(s, u)
		if err != nil {
			return err
		}
		s.uses = append(s.uses, use)
	}
	var err error
	if s.pieces, err = s.all(s.event.Pieces); err == nil {
		s.here, err = s.all(s.event.Here)
	}
	if err != nil {
		return at(s.event, err)
	}
	return nil
}

// readsMemory reports whether clauses at a source read the memory of the process.
func (s *source) readsMemory() bool { return len(s.reads) > 0 || s.event.Reads }

// attachAll attaches events. The program's setting for missing probes says whether it leaves out
// functions that do not exist. It returns an error anyway if nothing else can be attached.
func (a *Attachment) attachAll(events []*plan.Event) error {
	var missing, impossible []error
	left := 0 // attached events that clauses run at
	for _, event := range events {
		err := a.attach(event)
		if err != nil && a.program.Config.MissingProbes != "error" {
			err = a.attachStandIn(event, events, err)
		}
		switch {
		case err == nil:
			left += min(len(event.Uses), 1)
		case a.program.Config.MissingProbes == "ignore" && isImpossible(err):
			impossible = append(impossible, at(event, err))
		case a.program.Config.MissingProbes == "error" || !isMissing(err):
			return at(event, err)
		default:
			missing = append(missing, at(event, err))
			if a.program.Config.MissingProbes == "warn" {
				a.Notes = append(a.Notes, fmt.Sprintf("%s is left out: %v", event.Point.Text, err))
			}
		}
	}
	all := append(impossible, missing...) // errors that say more than that a name does not exist come first
	if left == 0 && len(all) > 0 {
		return all[0]
	}
	return nil
}

// isMissing reports whether err says that a function does not exist or may not be probed.
func isMissing(err error) bool {
	return errors.As(err, new(*uprobe.SymbolError)) || errors.As(err, new(*kprobe.SymbolError)) ||
		errors.As(err, new(*kprobe.BlacklistedError))
}

// isImpossible reports whether err says that the host does not have the library, or has no means to
// probe functions of the kernel. Only a program that has another source asks to ignore that.
func isImpossible(err error) bool {
	return errors.As(err, new(*library.NotFoundError)) || errors.As(err, new(*kprobe.MethodError))
}

// Probes returns how many probes are attached. A USDT probe counts once for each file that has it,
// however many places of the file are probed for it.
func (a *Attachment) Probes() int {
	n := 0
	seen := map[markIn]bool{}
	for _, s := range a.all() {
		places := max(1, len(s.places))
		if isMark(s.event) {
			mark := markIn{s.event, s.probe.Path}
			if seen[mark] {
				continue
			}
			seen[mark], places = true, 1
		}
		n += places * len(s.event.Uses)
	}
	return n
}

// A markIn is a USDT probe in one file.
type markIn struct {
	event *plan.Event
	path  string
}

func isMark(event *plan.Event) bool {
	return len(event.Uses) > 0 && event.Uses[0].Point.Provider == "usdt"
}

// attach attaches one event.
func (a *Attachment) attach(event *plan.Event) error {
	if event.Place == plan.Sampled {
		return a.attachSampled(event)
	}
	spec, err := parse(event)
	if err != nil {
		// The rest shows the definition, which is not in the program's text.
		text, _, _ := strings.Cut(err.Error(), "\n")
		text, _, _ = strings.Cut(text, "; it is {")
		return errors.New(strings.TrimPrefix(text, "invalid probe: "))
	}
	set, err := probe.Open(spec, probe.Options{
		Target: a.options.Target, View: a.options.View, UserStacks: event.UserStack, PMU: true, Logger: a.options.Logger,
	})
	a.Notes = append(a.Notes, set.Notes...)
	if err != nil {
		return err
	}
	name := event.Definition
	if len(event.Uses) > 0 {
		name = event.Uses[0].Point.Text
	}
	a.sets = append(a.sets, attachedSet{set, name})
	stacks := a.stacksOf(event)
	stacks.Entry = set.AtEntry
	for i := range set.Sources {
		s := &set.Sources[i]
		added := &source{event: event, probe: s, sample: s.Sampling(), stacks: stacks, places: s.Places}
		added.everybody = ofEverybody(systemOf(event, s))
		if s.Function < len(set.Functions) {
			added.name = set.Functions[s.Function]
		}
		if ok, err := a.attachCounted(added, set); err != nil {
			return err
		} else if !ok {
			a.sources = append(a.sources, added)
		}
	}
	return nil
}

// parse reads the definition of an event.
func parse(event *plan.Event) (*probe.Spec, error) {
	switch event.Place {
	case plan.User:
		return probe.ParseUser(event.String())
	case plan.Kernel:
		return probe.ParseKernel(event.String())
	}
	return &probe.Spec{Text: event.Definition, Place: probe.Tracepoint, Kind: 't', Probe: event.Definition}, nil
}

// aggregatedCopy is how many bytes of the stack are copied at first if clauses only aggregate. Few are enough:
// whole stacks complete those that are cut short. More would cost too much if hits come as a storm.
const aggregatedCopy = 2 << 10

// stacksOf says which stacks the hits of an event carry.
func (a *Attachment) stacksOf(event *plan.Event) stack.Stacks {
	stacks := stack.Stacks{User: event.UserStack, Kernel: event.KernelStack, Unwind: stack.Auto}
	if event.Place == plan.Sampled {
		return stacks
	}
	stacks.Budget = copyBudget
	if a.aggregates {
		return stacks.Copying(aggregatedCopy)
	}
	return stacks.Copying(stack.RareCopy)
}

// attachTexts makes the tracepoints of system calls show the texts that their parameters point to,
// if any clause asks for one.
func (a *Attachment) attachTexts() error {
	var wanting, others []*source
	var sources []probe.Source
	for _, s := range a.sources {
		if wantsText(s.event) {
			wanting = append(wanting, s)
			sources = append(sources, *s.probe)
		} else {
			others = append(others, s)
		}
	}
	if len(wanting) == 0 {
		return nil
	}
	a.sources = append(wanting, others...) // the texts know their samplings by index
	a.texted = len(wanting)
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	a.texts, err = syscalltext.Attach(sources, syscalltext.Options{
		Tracefs: tracefs, Near: a.options.Near, Limit: a.program.Config.MaxStrlen, Logger: a.options.Logger,
	})
	if err != nil {
		return err
	}
	for i, s := range a.sources[:a.texted] {
		s.probe = &a.texts.Sources[i]
		if a.texts.Methods[i] == syscalltext.Kprobe && s.probe.Filter != "" {
			s.probe.Filter = "" // the records are of another event
			a.Unfiltered = append(a.Unfiltered, s.name+": its texts come from a probe of the kernel that has other fields")
		}
		s.sample = s.probe.Sampling()
	}
	a.extraEvents = a.texts.ExtraEvents
	return nil
}

func wantsText(event *plan.Event) bool {
	for _, use := range event.Uses {
		for _, field := range use.Fields {
			if field.From == plan.RecordText {
				return true
			}
		}
	}
	return slices.ContainsFunc(event.Pieces, func(p plan.Piece) bool { return p.Field == "" })
}

// Close removes the events. Run must have returned.
func (a *Attachment) Close() error {
	var errs []error
	if a.engine != nil {
		a.engine.Close()
		errs = append(errs, a.symbolizer.Close())
		a.engine = nil
	}
	if a.source != nil {
		errs = append(errs, a.source.Close())
		a.source = nil
	}
	errs = append(errs, a.reader.Close())
	a.reader = nil
	if a.texts != nil {
		errs = append(errs, a.texts.Close())
		a.texts = nil
	}
	if a.userTexts != nil {
		a.userTexts.Close()
		a.userTexts = nil
	}
	if a.pointees != nil {
		errs = append(errs, a.pointees.close())
		a.pointees = nil
	}
	if a.iterated != nil {
		errs = append(errs, a.iterated.close())
		a.iterated = nil
	}
	for _, c := range a.counted {
		errs = append(errs, c.close())
	}
	a.counted = nil
	for _, set := range a.sets {
		errs = append(errs, set.Close())
	}
	a.sets = nil
	return errors.Join(errs...)
}
