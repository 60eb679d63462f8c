// Package session runs a program of the one-liner language from its text to its last line: it
// reads and checks it, makes its probes fire, and prints what bpftrace prints around it.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/ctypes"
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

	Includes    []string // headers that are read before the program
	IncludeDirs []string // where its other headers are, too
	Unsafe      bool     // it may change the host
	Dialect     string   // a name of show.Find; "" for what the program says, or the default

	JSON       bool
	Buffer     show.Mode
	Terminal   bool // standard output is a terminal
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
	Child  int        // the process that was started for the program, 0 if there is none

	Stdout, Stderr io.Writer
	Logger         *slog.Logger // nil discards
}

// failed is the exit code of a program that is wrong.
const failed = 1

// Run runs a program until it calls exit, the context is done, or nothing can happen any more.
// It returns the program's exit code. What is wrong with the program is written to Stderr as
// bpftrace writes it, with the exit code 1 and no error.
func Run(ctx context.Context, o Options) (code int, err error) {
	s := &session{opts: o, self: uint32(os.Getpid()), comm: commOf(os.Getpid()), names: newNames(), ahead: map[string]int64{}}
	if err := s.prepare(); err != nil {
		var wrong *syntax.Errors
		if !errors.As(err, &wrong) {
			return failed, err
		}
		_, err := fmt.Fprintln(o.Stderr, strings.TrimSuffix(wrong.Error(), "\n"))
		return failed, err
	}
	s.warn()
	if o.Dump {
		s.explain(o.Stdout)
		return 0, nil
	}
	if o.Verbose {
		s.explain(o.Stderr)
	}
	code, err = s.run(ctx)
	var wrong *syntax.Errors
	if errors.As(err, &wrong) {
		_, err = fmt.Fprintln(o.Stderr, strings.TrimSuffix(wrong.Error(), "\n"))
	}
	return code, err
}

// session is a program under way.
type session struct {
	opts    Options
	dialect show.Dialect
	self    uint32
	comm    string
	parsed  *syntax.Program
	checked *check.Program
	points  points
	names   *hostNames
	machine *eval.Machine
	printer *show.Printer
	ticks   *ticks
	hits    []*eval.Hit // of each clause
	errors  int         // messages of that level
	late    uint64      // reads of memory after the hit

	ahead map[string]int64 // of the monotonic clock, by the mode of nsecs

	events   []*plan.Event
	attached *live.Attachment // nil if the program has only probes of its own
	usr1     chan os.Signal
	stop     context.CancelFunc // ends the run as Ctrl-C does
}

// prepare reads and checks the program. The error is a *syntax.Errors if the program is wrong.
func (s *session) prepare() error {
	o := &s.opts
	var err error
	s.parsed, err = syntax.Parse(o.File, o.Text, syntax.Options{
		Positional: o.Params,
		Includes:   o.Includes,
		Header:     s.header,
		Import:     s.read,
	})
	if err != nil {
		return err
	}
	s.leaveOutMissing()
	language := s.choose()
	kernel := &kernelTypes{}
	scope, err := ctypes.New(s.parsed, kernel)
	if err != nil {
		return err
	}
	s.names.enums = enums(s.parsed)
	host := &env{Scope: scope, kernel: kernel}
	s.checked, err = check.Check(s.parsed, check.Options{
		Dialect: language, Unsafe: o.Unsafe, Params: o.Params, Named: o.Named, CPUs: runtime.NumCPU(), Env: host,
		Child: o.Child != 0,
	})
	if err != nil {
		return err
	}
	if err := s.place(host); err != nil {
		return err
	}
	s.dialect.Trailer = cmp.Or(s.checked.Config.StrTrailer, s.dialect.Trailer)
	s.printer = show.NewPrinter(o.Stdout, o.Stderr, s.dialect, s.names)
	s.printer.JSON, s.printer.Mode, s.printer.Terminal = o.JSON, o.Buffer, o.Terminal
	s.machine, err = eval.New(s.checked, eval.Options{
		Dialect: language, Output: s.printer, Host: s, CPUs: runtime.NumCPU(), Child: o.Child, Seed: uint64(time.Now().UnixNano()),
	})
	if err == nil {
		s.printer.Failed = s.machine.Interrupt
	}
	return err
}

// choose picks the dialect: of the options, of the program's config block, or the default. The
// language is that of the current release unless 0.17 is asked for.
func (s *session) choose() check.Dialect {
	name := s.opts.Dialect
	for _, setting := range s.parsed.Config {
		if word, ok := setting.Value.(*syntax.Str); ok && setting.Name == "dialect" {
			name = cmp.Or(name, word.Value)
		}
	}
	s.dialect, _ = show.Find(cmp.Or(name, "default"))
	if s.dialect.Name == "" {
		s.dialect = show.Default() // the checker says what is wrong with the name
	}
	if s.dialect.Name == "0.17" {
		return check.V017
	}
	return check.Current
}

// read reads what a program imports: beside it, or in the folders of IncludeDirs.
func (s *session) read(from, path string) (name, text string, err error) {
	places := append([]string{filepath.Dir(from)}, s.opts.IncludeDirs...)
	if filepath.IsAbs(path) {
		places = []string{""}
	}
	for _, dir := range places {
		name = filepath.Join(dir, path)
		var b []byte
		if b, err = readBounded(name, maxImport); err == nil {
			return name, string(b), nil
		}
	}
	return "", "", err
}

// header reads a header from the folders of IncludeDirs, or one that is named by its path.
func (s *session) header(path string) (name, text string, ok bool) {
	places := s.opts.IncludeDirs
	if strings.Contains(path, "/") && slices.Contains(s.opts.Includes, path) {
		places = append([]string{""}, places...)
	}
	for _, dir := range places {
		name = filepath.Join(dir, path)
		if b, err := readBounded(name, maxImport); err == nil {
			return name, string(b), true
		}
	}
	return "", "", false
}

// maxImport bounds the text of an import, in bytes.
const maxImport = 1 << 20

func readBounded(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s is longer than %d bytes", name, most)
	}
	return b, err
}

// place finds out where the clauses of the program run, and refuses what cannot run.
func (s *session) place(host plan.Host) error {
	var wrong []*syntax.Error
	s.events, wrong = plan.Make(s.checked, host)
	for i, c := range s.checked.Clauses {
		own := false
		for _, p := range c.Points {
			taken, err := s.points.add(i, p, s.dialect.Name == "0.17")
			if err != nil {
				wrong = append(wrong, err)
			}
			own = own || taken
		}
		hit := &eval.Hit{PID: s.self, TID: s.self}
		if own {
			values, err := s.own(c)
			if err != nil {
				wrong = append(wrong, err)
			}
			hit.Values = values
		}
		s.hits = append(s.hits, hit)
	}
	if len(wrong) == 0 && len(s.hits) == 0 {
		wrong = append(wrong, &syntax.Error{Pos: syntax.Pos{File: s.opts.File, Line: 1, Col: 1}, Msg: "the program has no probe", Hint: "BEGIN { … } is one."})
	}
	if len(wrong) > 0 {
		return &syntax.Errors{List: wrong, Sources: s.parsed.Sources}
	}
	return nil
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
	probes := s.points.all()
	target := perfevent.System()
	if s.opts.Target != nil {
		target = *s.opts.Target
		s.events = append(s.events, never())
	}
	if len(s.events) > 0 {
		s.attached, err = live.Attach(s.checked, s.events, live.Options{Target: target, View: s.opts.View, Logger: s.opts.Logger})
		if err != nil {
			return failed, s.placed(err)
		}
		defer func() { err = errors.Join(err, s.attached.Close()) }()
		for _, note := range s.attached.Notes {
			fmt.Fprintln(s.opts.Stderr, "note:", note)
		}
		s.names.live = s.attached
		probes += s.attached.Probes()
	}
	if !s.opts.Quiet {
		s.printer.Attached(probes)
	}
	if s.opts.DryRun {
		return 0, s.printer.Flush()
	}
	s.usr1 = make(chan os.Signal, 16)
	if len(s.points.signals) > 0 {
		signal.Notify(s.usr1, unix.SIGUSR1)
		defer signal.Stop(s.usr1)
	}
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	stop := context.AfterFunc(ctx, s.machine.Interrupt)
	defer stop()
	if s.attached != nil {
		if err := s.follow(ctx); err != nil {
			return failed, s.placed(err)
		}
	} else if s.Start(uint64(clock(unix.CLOCK_MONOTONIC))) {
		s.wait(ctx)
	}
	if err := s.printer.Err(); err != nil {
		return 0, err
	}
	return s.finish()
}

// Start begins the program at a time of the monotonic clock. It returns false if it is over.
func (s *session) Start(at uint64) bool {
	s.machine.Start(at)
	var periods []time.Duration
	for _, p := range s.points.intervals {
		periods = append(periods, p.period)
	}
	s.ticks = newTicks(time.Duration(at), periods)
	if s.opts.Duration > 0 {
		time.AfterFunc(s.opts.Duration, s.stop)
	}
	return s.fire(s.points.begin, time.Duration(at))
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
		if !ticking && len(s.points.signals) == 0 && s.dialect.Name != "0.17" {
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
		if s.checked.Config.PrintMaps {
			s.printer.Map(m, 0, 0)
		}
		if n := m.Dropped.Keys; n > 0 {
			fmt.Fprintf(s.opts.Stderr, "WARNING: %s was full at %d keys and %d MiB: %d times a new key was left out\n",
				m.Name, m.Len(), m.Bytes()>>20, n)
		}
	}
}
