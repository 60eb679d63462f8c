package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/record"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
)

// recordFlags are the options of record, which are perf record's.
type recordFlags struct {
	targetFlags
	all, graph bool
	duration   secondsFlag
	events     eventsFlag
	frequency  uint64
	period     uint64
	callGraph  string
	noUnwind   bool
	noSymbols  bool
	output     string
	level      int
	maxSize    sizeFlag
	verbose    bool

	rated    bool         // -F or -c was given
	stacks   stack.Stacks // as callGraph says
	recorded []string     // the events' names
}

func (r *recordFlags) add(flags *pflag.FlagSet) {
	flags.BoolVarP(&r.all, "all-cpus", "a", false, "sample all CPUs, as perf's option; this is the default without a target")
	r.targetFlags.add(flags, "t")
	addCgroup(flags, &r.Cgroup, "G")
	manual.SetGroup(flags, targetGroup)
	addDuration(flags, &r.duration, "; otherwise Ctrl-C, or the end of the command or of the target, ends the recording")
	manual.SetGroup(flags, whenGroup)
	flags.VarP(&r.events, "event", "e", "record `EVENT`, as perf list has it: cycles:u, page-faults, sched:sched_switch; or a probe: 'p:bash:readline' (may be repeated, or a list; default: cycles, or else cpu-clock)")
	flags.Var(filterFlag{&r.events}, "filter", "only hits of the tracepoints or the probe in the --event before it that `FILTER` selects")
	flags.Uint64VarP(&r.frequency, "frequency", "F", 0, "take `HZ` samples a second on each CPU (default: 199 for -p, -t and a command, 99 for the host and -G)")
	flags.Uint64VarP(&r.period, "sample-period", "c", 0, "take a sample after every `N` events; tracepoints and probes have 1 by default")
	flags.StringVar(&r.callGraph, "call-graph", "auto", "record stacks, unwound by `METHOD`: fp (frame pointers), dwarf[,SIZE] (.eh_frame on a copy of the stack of SIZE bytes), auto, or none")
	manual.SetValues(flags, "call-graph", "auto", "fp", "dwarf", "none")
	flags.BoolVarP(&r.graph, "callchains", "g", false, "record stacks, as perf's option; this is the default")
	flags.BoolVar(&r.noUnwind, "no-unwind", false, "write registers and copies of the stack, for other tools to unwind, instead of callchains")
	flags.BoolVar(&r.noSymbols, "no-symbols", false, "leave out the names of functions, which take ringtap a moment at the end; readers then need the recorded files")
	manual.SetGroup(flags, whatGroup)
	flags.StringVarP(&r.output, "output", "o", defaultRecording, "write to `FILE`; a file of that name becomes FILE.old; - is a pipe")
	flags.IntVarP(&r.level, "compression-level", "z", 1, "pack the records with zstd's `LEVEL` 1 to 22; 0 packs nothing, for readers without zstd")
	flags.Var(&r.maxSize, "max-size", "end when the file has `SIZE` bytes, or so many K, M or G")
	addVerbose(flags, &r.verbose, "v")
	manual.SetGroup(flags, outputGroup)
}

// takeCommand takes the command from the parsed flags. With a target, the command only says how long the
// recording takes.
func (r *recordFlags) takeCommand(flags *pflag.FlagSet) (*timer, error) {
	args := flags.Args()
	if flags.ArgsLenAtDash() == 0 && len(args) == 0 {
		return nil, usagef("no command after --")
	}
	if len(args) == 0 {
		return &timer{}, nil
	}
	if r.all || flags.Changed("pid") || flags.Changed("tid") || flags.Changed("cgroup") {
		t := &timer{args: args}
		return t, t.check()
	}
	r.Command = args
	return &timer{}, nil
}

// validate checks the flags before anything is opened.
func (r *recordFlags) validate(flags *pflag.FlagSet, out *console) error {
	for _, name := range []string{"pid", "tid", "cgroup"} {
		if r.all && flags.Changed(name) {
			return usagef("-a watches all: leave out --%s", name)
		}
	}
	switch {
	case flags.Changed("frequency") && flags.Changed("sample-period"):
		return usagef("give only one of -F and -c")
	case flags.Changed("frequency") && (r.frequency < 1 || r.frequency > maxFrequency):
		return usagef("-F %d: want 1 to kernel.perf_event_max_sample_rate", r.frequency)
	case flags.Changed("sample-period") && r.period < 1:
		return usagef("-c %d: at least 1", r.period)
	case r.level < 0 || r.level > 22:
		return usagef("-z %d: from 0 to 22", r.level)
	case r.output == "-" && out.drawn:
		return usagef("-o -: standard output is a terminal; give it to a command: ringtap record -o - | ringtap report -")
	}
	if r.rated = flags.Changed("frequency") || flags.Changed("sample-period"); !r.rated {
		r.frequency = 99
		if flags.Changed("pid") || flags.Changed("tid") || r.Command != nil {
			r.frequency = processFrequency
		}
	}
	if err := r.setStacks(); err != nil {
		return err
	}
	return r.check(flags)
}

// setStacks sets the stacks from --call-graph.
func (r *recordFlags) setStacks() error {
	method, size, sized := strings.Cut(r.callGraph, ",")
	switch {
	case method == "none":
		return nil
	case !slices.Contains(stack.Unwinds(), stack.Unwind(method)):
		return usagef("--call-graph %q: one of auto, fp, dwarf[,SIZE], none", r.callGraph)
	case sized && method != string(stack.DWARF):
		return usagef("--call-graph %q: only dwarf has a size", r.callGraph)
	}
	r.stacks = stack.Stacks{User: true, Kernel: true, Unwind: stack.Unwind(method)}
	if !sized {
		return nil
	}
	bytes, err := strconv.ParseUint(size, 10, 32)
	if err != nil || bytes == 0 || bytes%8 != 0 || bytes > perfevent.MaxUserStack {
		return usagef("--call-graph %q: SIZE is a multiple of 8, up to %d", r.callGraph, perfevent.MaxUserStack)
	}
	r.stacks.Copy = uint32(bytes)
	return nil
}

// options returns the options of a recording of the target, and a function that closes its tracepoints
// and probes.
func (r *recordFlags) options(out *console, target perfevent.Target) (*record.Options, func(), error) {
	var sets []*probe.Set
	release := func() {
		for _, set := range sets {
			set.Release(out.stderr)
		}
	}
	view, err := r.view()
	if err != nil {
		return nil, nil, err
	}
	open := func(text string) (*probe.Set, error) {
		spec, err := probe.Parse(text, view)
		if err != nil {
			return nil, err
		}
		set, err := attach(out, []*probe.Spec{spec}, probe.Options{Target: target, View: view, Sharing: probe.ShareNone,
			Method: kprobe.MethodKprobeEvents, UserStacks: r.stacks.User, Logger: out.logger(r.verbose)})
		sets = append(sets, set)
		return set, err
	}
	events, err := r.events.parse(open)
	if err != nil {
		release()
		return nil, nil, err
	}
	for i := range events {
		r.recorded = append(r.recorded, events[i].Name)
	}
	return &record.Options{
		Target: target, Events: events, Frequency: r.frequency, Period: r.period, EachHit: !r.rated, Stacks: r.stacks, NoUnwind: r.noUnwind,
		NoNames: r.noSymbols, Create: r.create, Level: r.level, MaxBytes: int64(r.maxSize), Duration: time.Duration(r.duration),
		Command: os.Args, Version: "ringtap " + versionText(), Logger: out.logger(r.verbose),
	}, release, nil
}

// create starts the recording. As with perf, a file of the same name becomes FILE.old.
func (r *recordFlags) create(events []perfdata.Event, opts perfdata.WriteOptions) (*perfdata.Writer, error) {
	if r.output == "-" {
		return perfdata.NewPipeWriter(os.Stdout, events, opts)
	}
	if info, err := os.Stat(r.output); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		if err := os.Rename(r.output, r.output+".old"); err != nil {
			return nil, err
		}
	}
	return perfdata.Create(r.output, events, opts)
}
