// Package session runs a program of the one-liner language from start to end. It parses and checks
// the program, fires its probes, and prints what bpftrace prints around the program's own output.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/show"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

// Options configure Run.
type Options struct {
	Text   string            // the program
	File   string            // name of the file with the program; "" for the command line
	Params []string          // $1, $2, …
	Named  map[string]string // the program's own options, for getopt

	Strict bool // options in Named that the program does not have are errors

	ProbeFilter *regexp.Regexp // selects attach points; nil for all

	Includes    []string // headers to read before the program
	IncludeDirs []string // folders with other headers
	Unsafe      bool     // allow changes to the host
	Environ     []string // environment variables as NAME=VALUE, which may contain settings
	Dialect     string   // a name that show.Find knows; "" to let the program decide, or Otherwise
	Otherwise   string   // dialect if neither Dialect nor the program names one; "" for the default

	JSON       bool
	Buffer     show.Mode
	Raw        bool // print text of traced processes without escapes, including control characters
	Quiet      bool
	Bare       bool // print only the program's own output: no gap at the end
	Verbose    bool
	NoWarnings bool
	DryRun     bool
	Dump       bool // only print how the program is understood
	Test       bool // run only the test probes
	Bench      bool // run only the bench probes

	// Duration is how long the program runs after its begin probes. 0 means until it ends on its
	// own.
	Duration time.Duration

	// Target is what the probes observe. If it is not nil, the program ends when the target ends.
	Target *perfevent.Target
	View   probe.View // how to find files
	// Notify receives one line when the probes are armed, so that a caller can wait for it before
	// it starts a workload. It may be nil.
	Notify io.Writer
	// Near allows helper processes, which need main to call helper.Serve. See syscalltext.Options
	// and live.Options.
	Near  bool
	Child int // process that was started for the program, 0 if none

	Stdout, Stderr io.Writer
	Logger         *slog.Logger // nil discards
}

// failed is the exit code of a wrong program.
const failed = 1

// Run runs a program until it calls exit, ctx is done, or nothing can happen any more. It returns
// the program's exit code. If the program is wrong, Run prints the errors to Stderr in bpftrace's
// form and returns code 1 and a nil error. If the user lacks a permission, it returns an error.
func Run(ctx context.Context, o Options) (code int, err error) {
	s := &session{opts: o, self: uint32(os.Getpid()), comm: proc.Live.Comm(os.Getpid()), names: newNames(), ahead: map[string]int64{}}
	defer func() { err = errors.Join(err, s.kernel.close()) }()
	code = failed
	if err = s.prepare(); err == nil {
		code, err = s.start(ctx)
	}
	var wrong *syntax.Errors
	if errors.As(err, &wrong) {
		if err := denied(wrong); err != nil {
			return code, err
		}
		_, err = fmt.Fprintln(o.Stderr, strings.TrimSuffix(wrong.Error(), "\n"))
	}
	return code, err
}

// denied returns the first permission error in wrong, if the user is not root. For root it returns
// nil, because the refusal has another cause.
func denied(wrong *syntax.Errors) error {
	if os.Geteuid() == 0 {
		return nil
	}
	for _, e := range wrong.List {
		if errors.Is(e.Err, fs.ErrPermission) {
			return e.Err
		}
	}
	return nil
}

// start runs the prepared program, or prints how it is understood.
func (s *session) start(ctx context.Context) (code int, err error) {
	s.warn()
	if s.opts.Dump {
		s.explain(s.opts.Stdout)
		return 0, nil
	}
	if s.opts.Verbose {
		s.explain(s.opts.Stderr)
	}
	return s.run(ctx)
}

// session is one run of a program.
type session struct {
	opts    Options
	dialect show.Dialect
	self    uint32
	comm    string
	parsed  *syntax.Program
	leftOut []*syntax.Probe // probes of the program that were dropped because this kernel lacks what they attach to
	checked *check.Program
	points  points
	names   *hostNames
	machine *eval.Machine
	printer *show.Printer
	ticks   *ticks
	probes  int         // number of attached probes, including its own
	hits    []*eval.Hit // the hit to reuse for each clause
	errors  int         // number of messages of level Error

	kernel kernelMemory     // for probes that fire in ringtap itself
	item   item             // current item of an iterator
	ahead  map[string]int64 // offset from the monotonic clock in nanoseconds, by the mode of nsecs

	events   []*plan.Event
	attached *live.Attachment // nil if all probes fire in ringtap itself
	noted    int              // how many of attached.Notes were printed
	usr1     chan os.Signal
	stop     context.CancelFunc // ends the run like Ctrl-C
}

// warn prints the checker's warnings.
func (s *session) warn() {
	if s.opts.NoWarnings {
		return
	}
	for _, w := range s.checked.Warnings {
		fmt.Fprintf(s.opts.Stderr, "%s:%d:%d: WARNING: %s\n", cmp.Or(w.File, "stdin"), w.Line, w.Col, w.Msg)
	}
}

// run runs the prepared program.
func (s *session) run(ctx context.Context) (code int, err error) {
	if s.opts.Test || s.opts.Bench {
		return s.measure(ctx)
	}
	s.probes = s.points.all()
	target := perfevent.System()
	if s.opts.Target != nil {
		target = *s.opts.Target
		s.events = append(s.events, never())
	}
	if len(s.events) > 0 {
		s.attached, err = live.Attach(s.checked, s.events, live.Options{
			Target: target, View: s.opts.View, Near: s.opts.Near, Books: s.opts.Verbose, Nested: nested(), Logger: s.opts.Logger,
			Task: s.kernel.ofTask,
		})
		if err != nil {
			return failed, s.placed(err)
		}
		defer func() { err = errors.Join(err, s.attached.Close()) }()
		s.notes()
		s.names.live = s.attached
		s.probes += s.attached.Probes()
	}
	if s.opts.DryRun {
		s.say()
		return 0, s.printer.Flush()
	}
	s.usr1 = make(chan os.Signal, 16)
	if len(s.points.signals) > 0 {
		signal.Notify(s.usr1, unix.SIGUSR1)
		defer signal.Stop(s.usr1)
	}
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	patience := time.Duration(0)
	if s.attached != nil {
		patience = live.Patience * 3 / 2 // the hits that wait have had their time
	}
	stop := engine.After(ctx, patience, s.machine.Interrupt) // ends endless loops, except in end probes
	defer stop()
	if s.attached != nil {
		if err := s.follow(ctx); err != nil {
			return failed, s.placed(err)
		}
		stop()
	} else if s.Start(uint64(clock(unix.CLOCK_MONOTONIC))) {
		s.wait(ctx)
	}
	if err := s.printer.Err(); err != nil {
		return 0, err
	}
	return s.finish()
}

// notes prints the notes about the probes that were not printed before.
func (s *session) notes() {
	for _, note := range s.attached.Notes[s.noted:] {
		fmt.Fprintln(s.opts.Stderr, "note:", note)
	}
	s.noted = len(s.attached.Notes)
}

// say prints how many probes are attached.
func (s *session) say() {
	if !s.opts.Quiet {
		s.printer.Attached(s.probes)
	}
}

// notify tells Options.Notify, in bpftrace's words, that the probes are armed.
func (s *session) notify() {
	if s.opts.Notify != nil && s.printer.Flush() == nil {
		_, _ = io.WriteString(s.opts.Notify, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n")
	}
}

// Start starts the program when its probes are armed. now is in nanoseconds of CLOCK_MONOTONIC. It
// returns false if the program has ended.
func (s *session) Start(now uint64) bool {
	s.say()
	if s.attached != nil {
		s.notes()
	}
	s.notify()
	s.machine.Start(now)
	var periods []time.Duration
	for _, p := range s.points.intervals {
		periods = append(periods, p.period)
	}
	s.ticks = newTicks(time.Duration(now), periods)
	if s.opts.Duration > 0 {
		time.AfterFunc(s.opts.Duration, s.stop)
	}
	return s.fire(s.points.begin, time.Duration(now)) && s.iterate(time.Duration(now))
}

// fire runs the clauses of probes at the time now. It returns false if the program has ended.
func (s *session) fire(probes []point, now time.Duration) bool {
	for _, p := range probes {
		s.machine.Hit(p.clause, s.hit(p, now))
		if s.over() {
			return false
		}
	}
	return true
}

// hit returns the hit of a point at the time now. It is valid until the next call for the same
// clause.
func (s *session) hit(p point, now time.Duration) *eval.Hit {
	h := s.hits[p.clause]
	h.Time, h.Probe = uint64(now), p.text
	return h
}

// over reports whether the program has called exit or cannot write its output.
func (s *session) over() bool {
	_, exited := s.machine.Exited()
	return exited || s.printer.Err() != nil
}

// wait runs intervals and signals when they are due, until the program ends or ctx is done. It
// returns immediately if nothing can happen any more, except in 0.17, which waits for Ctrl-C.
func (s *session) wait(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !s.over() {
		interval, at, ticking := s.ticks.next()
		if !ticking && len(s.points.signals) == 0 && (s.dialect.Name != "0.17" || len(s.points.iters) > 0) {
			return
		}
		rest := time.Hour
		if ticking {
			rest = at - time.Duration(clock(unix.CLOCK_MONOTONIC))
		}
		if rest > 0 {
			if s.printer.Flush() != nil {
				return
			}
			timer.Reset(rest)
			select {
			case <-ctx.Done():
				return
			case <-s.usr1:
				s.fire(s.points.signals, time.Duration(clock(unix.CLOCK_MONOTONIC)))
			case <-timer.C:
			}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		s.fire(s.points.intervals[interval:interval+1], at)
		s.ticks.done(interval, time.Duration(clock(unix.CLOCK_MONOTONIC)))
	}
}

// finish runs the end probes and prints the maps.
func (s *session) finish() (int, error) {
	code, _ := s.machine.Exited()
	s.machine.Resume()
	now := time.Duration(clock(unix.CLOCK_MONOTONIC))
	for _, p := range s.points.end {
		s.machine.End(p.clause, s.hit(p, now))
	}
	if s.ticks != nil && s.ticks.Skipped > 0 && !s.opts.NoWarnings {
		fmt.Fprintf(s.opts.Stderr, "WARNING: %d ticks of intervals were skipped: the program takes longer than its interval\n", s.ticks.Skipped)
	}
	if !s.opts.Bare {
		s.printer.End()
	}
	s.printMaps()
	return code, s.printer.Flush()
}

// printMaps prints the maps, sorted by name, and reports late, uncertain and dropped keys.
func (s *session) printMaps() {
	maps := slices.SortedFunc(slices.Values(s.machine.Maps), func(a, b *value.Map) int { return cmp.Compare(a.Name, b.Name) })
	for _, m := range maps {
		if s.checked.Config.PrintMaps && (m.Len() > 0 || !s.dialect.Compact) {
			s.printer.Map(m, 0, 0)
		}
		if n := s.machine.Late[slices.Index(s.machine.Maps, m)]; n > 0 {
			fmt.Fprintf(s.opts.Stderr, "WARNING: %d keys and numbers of %s were read from memory a moment after the hits: they may be others than then\n", n, m.Name)
		}
		if m.Uncertain > 0 {
			fmt.Fprintf(s.opts.Stderr, "WARNING: %d uses of values of %s are uncertain: hits that would have changed them may have been lost\n", m.Uncertain, m.Name)
		}
		if n := m.Dropped.Keys; n > 0 {
			fmt.Fprintf(s.opts.Stderr, "WARNING: Map full; can't update element: %s holds %d keys in %d MiB, and %d new keys were left out\n",
				m.Name, m.Len(), m.Bytes()>>20, n)
		}
	}
}
