// Package session runs a program of the one-liner language from its text to its last line: it
// reads and checks it, makes its probes fire, and prints what bpftrace prints around it.
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

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/eval"
	"github.com/ringtap/ringtap/internal/script/live"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/internal/script/show"
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/value"
	"github.com/ringtap/ringtap/perfevent"
)

// Options say what runs, and how.
type Options struct {
	Text   string            // of the program
	File   string            // where it is from; "" for the command line
	Params []string          // $1, $2, …
	Named  map[string]string // options of the program's own, for getopt

	Strict bool // options of Named that are none of the program's are wrong

	ProbeFilter *regexp.Regexp // of the attach points that are left in the program; nil for all

	Includes    []string // headers that are read before the program
	IncludeDirs []string // where its other headers are, too
	Unsafe      bool     // it may change the host
	Environ     []string // variables that may hold settings, NAME=VALUE
	Dialect     string   // a name of show.Find; "" for what the program says, or Otherwise
	Otherwise   string   // the dialect if neither Dialect nor the program names one; "" for the default

	JSON       bool
	Buffer     show.Mode
	Raw        bool // print text of traced processes as it is, control characters included
	Quiet      bool
	Bare       bool // print nothing but what the program prints: no gap at the end
	Verbose    bool
	NoWarnings bool
	DryRun     bool
	Dump       bool // show how the program is understood, and end
	Test       bool // run the test probes alone
	Bench      bool // run the bench probes alone

	// Duration is how long the program runs from its begin probes on; 0 is until it ends.
	Duration time.Duration

	// Target is what probes of the machine watch. Unless it is nil, the program ends with it.
	Target *perfevent.Target
	View   probe.View // how files are found
	// Notify receives one line when the probes are armed, for programs that must not start
	// before. If nil, no line is written.
	Notify io.Writer
	// Near says that the main function has what reads memory exactly: see syscalltext and moment.
	Near  bool
	Child int // the process that was started for the program, 0 if there is none

	Stdout, Stderr io.Writer
	Logger         *slog.Logger // nil discards
}

// failed is the exit code of a program that is wrong.
const failed = 1

// Run runs a program until it calls exit, the context is done, or nothing can happen any more.
// It returns the program's exit code. What is wrong with the program is written to Stderr as
// bpftrace writes it, with the exit code 1 and no error. What the user may not do is an error.
func Run(ctx context.Context, o Options) (code int, err error) {
	s := &session{opts: o, self: uint32(os.Getpid()), comm: commOf(os.Getpid()), names: newNames(), ahead: map[string]int64{}}
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

// denied returns the host's first refusal to a user without the privileges. It returns nil if the
// host refused nothing, or refused it to root, which has another cause.
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

// start runs the program that is prepared, or says how it is understood.
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

// session is a program under way.
type session struct {
	opts    Options
	dialect show.Dialect
	self    uint32
	comm    string
	parsed  *syntax.Program
	leftOut []*syntax.Probe // of the program's, since this kernel does not have what they are at
	checked *check.Program
	points  points
	names   *hostNames
	machine *eval.Machine
	printer *show.Printer
	ticks   *ticks
	probes  int         // that are attached, with its own
	hits    []*eval.Hit // of each clause
	errors  int         // messages of that level

	kernel kernelMemory     // as the program's own probes see it
	item   item             // that an iterator is at
	ahead  map[string]int64 // of the monotonic clock, by the mode of nsecs

	events   []*plan.Event
	attached *live.Attachment // nil if the program has only probes of its own
	noted    int              // of its notes, how many were printed
	usr1     chan os.Signal
	stop     context.CancelFunc // ends the run as Ctrl-C does
}

// warn prints what is accepted but may surprise.
func (s *session) warn() {
	if s.opts.NoWarnings {
		return
	}
	for _, w := range s.checked.Warnings {
		fmt.Fprintf(s.opts.Stderr, "%s:%d:%d: WARNING: %s\n", cmp.Or(w.File, "stdin"), w.Line, w.Col, w.Msg)
	}
}

// run runs the program that is prepared.
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
	stop := s.interruptAfter(ctx)
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

// notes prints what is to say about the probes, once.
func (s *session) notes() {
	for _, note := range s.attached.Notes[s.noted:] {
		fmt.Fprintln(s.opts.Stderr, "note:", note)
	}
	s.noted = len(s.attached.Notes)
}

// say says how many probes are attached.
func (s *session) say() {
	if !s.opts.Quiet {
		s.printer.Attached(s.probes)
	}
}

// notify tells Options.Notify that the probes are armed, in bpftrace's words.
func (s *session) notify() {
	if s.opts.Notify != nil && s.printer.Flush() == nil {
		_, _ = io.WriteString(s.opts.Notify, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n")
	}
}

// Start begins the program at a time of the monotonic clock, at which its probes are armed. It
// returns false if it is over.
func (s *session) Start(at uint64) bool {
	s.say()
	if s.attached != nil {
		s.notes()
	}
	s.notify()
	s.machine.Start(at)
	var periods []time.Duration
	for _, p := range s.points.intervals {
		periods = append(periods, p.period)
	}
	s.ticks = newTicks(time.Duration(at), periods)
	if s.opts.Duration > 0 {
		time.AfterFunc(s.opts.Duration, s.stop)
	}
	return s.fire(s.points.begin, time.Duration(at)) && s.iterate(time.Duration(at))
}

// fire runs the clauses of some points at a time. It returns false if the program is over.
func (s *session) fire(at []point, now time.Duration) bool {
	for _, p := range at {
		s.machine.Hit(p.clause, s.hit(p, now))
		if s.over() {
			return false
		}
	}
	return true
}

// hit returns the hit of a point at a time.
func (s *session) hit(p point, now time.Duration) *eval.Hit {
	h := s.hits[p.clause]
	h.Time, h.Probe = uint64(now), p.text
	return h
}

// over tells whether the program called exit, or its output is gone.
func (s *session) over() bool {
	_, exited := s.machine.Exited()
	return exited || s.printer.Err() != nil
}

// wait lets time pass and runs what is due, until the program is over or the context is done.
// A program that nothing can wake is over, too: but for 0.17, which waits for Ctrl-C.
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

// printMaps prints the maps that are left, by name, and says what their bounds kept out.
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
