package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// measurement is an entry of the table. The runner loads the workload, then gives
// each tool one turn in every run, and compares what the turns have added.
type measurement struct {
	name     string
	kernel   string   // of the guest that it runs in; "": this machine
	workload string   // a script, see program
	probe    string   // the arguments by which perf probe makes $event, where perf is installed
	busy     []string // programs of package truth that run, beside Go code, for each turn
	// operate measures the workload without a tool, before each run.
	operate func(*session, context.Context) (quantities, error)
	times   int // turns of each tool in a run; 0: one
	tools   []tool
	// turn runs a tool once and adds what it measures.
	turn    func(*session, context.Context, tool) error
	compare []comparison
}

// tool is one that takes turns.
type tool struct {
	name   string
	line   string // its command line, see session.args
	count  counter
	slower int    // its rounds have this many times fewer calls; 0: as many
	script bool   // its output is a perf.data file, which perf script has yet to read
	try    string // a command that fails where the tool can't work
	clean  func(s *session, pid int) error
}

// comparison is a row of the printed table. Own names ringtap's values of an outcome,
// peer those of the tool that it is compared with.
type comparison struct {
	what, unit string
	own, peer  string
	most       float64 // of own/peer, or of own without a peer; negative: no target
	scale      float64 // of the unit in which own is measured; 0: 1
}

// quantities are what one operation takes, by name; "" is the main one.
type quantities map[string]float64

// outcome is what a measurement has found.
type outcome struct {
	Values  map[string][]float64 // of each run, by TOOL or "TOOL: QUANTITY"
	Notes   map[string]string    // by tool
	Missing map[string]string    // by tool: why it can't run
}

// session is a measurement that runs.
type session struct {
	*bench
	measurement
	outcome
	vars     map[string]string // of command lines
	base     quantities        // the workload without a tool
	program  *program
	profiled workload
	undo     []func() error
}

func (b *bench) newSession(m measurement) *session {
	// ringtap takes the form of what it writes from the ending.
	out, group := filepath.Join(b.dir, "out.folded"), fmt.Sprintf("bench_%d", os.Getpid())
	self, _ := os.Executable()
	s := &session{bench: b, measurement: m, vars: map[string]string{
		"ringtap": b.ringtap, "perftools": b.perfTools, "dir": b.dir, "out": out,
		"seconds": strconv.Itoa(b.seconds), "interval": strconv.Itoa(2 * b.seconds),
		"hits": strconv.Itoa(10 * b.hits), "group": group, "event": group + ":hit", "self": self,
		"last": strconv.Itoa(runtime.NumCPU() - 1), "others": fmt.Sprintf("0-%d", max(runtime.NumCPU()-2, 0)),
	}}
	s.Values, s.Notes, s.Missing = map[string][]float64{}, map[string]string{}, map[string]string{}
	return s
}

// args are the arguments of a command line: words and 'quoted strings'. $out is the
// file for a tool's results, $event what a perf probe of the workload has made.
func (s *session) args(line string) (args []string) {
	for i, part := range strings.Split(s.expand(line), "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

func (s *session) expand(text string) string {
	return os.Expand(text, func(name string) string {
		if value, ok := s.vars[name]; ok {
			return value
		}
		return "$" + name // the shell's
	})
}

// run runs a command line to its end.
func (s *session) run(ctx context.Context, line string) (result, error) {
	args := s.args(line)
	return run(ctx, nil, args[0], args[1:]...)
}

// launch starts a tool in the background.
func (s *session) launch(ctx context.Context, output *os.File, t tool) (*background, error) {
	args := s.args(t.line)
	return launch(ctx, output, args[0], args[1:]...)
}

// cleaned removes what a tool that was killed leaves behind.
func (t tool) cleaned(s *session, b *background) error {
	if t.clean == nil {
		return nil
	}
	return t.clean(s, b.cmd.Process.Pid)
}

// add adds what one turn of a tool has measured.
func (s *session) add(t tool, quantity string, value float64) {
	key := t.name
	if quantity != "" {
		key += ": " + quantity
	}
	s.Values[key] = append(s.Values[key], value)
}

// addBeyond adds what an operation takes longer with a tool.
func (s *session) addBeyond(t tool, with quantities) {
	for quantity, value := range with {
		s.add(t, quantity, value-s.base[quantity])
	}
}

// cleanUp is called with what must be undone after the measurement, last things first.
func (s *session) cleanUp(f func() error) { s.undo = append(s.undo, f) }

// missingError says why a workload is not to be had.
type missingError string

func (e missingError) Error() string { return string(e) }

// measure runs the measurement on this machine. A tool that fails has no more turns;
// the others have.
func (b *bench) measure(ctx context.Context, m measurement) (_ outcome, err error) {
	s := b.newSession(m)
	defer func() {
		for _, f := range slices.Backward(s.undo) {
			err = errors.Join(err, f())
		}
	}()
	if err := s.load(ctx); err != nil {
		return s.outcome, err
	}
	var tools []tool
	for _, t := range m.tools {
		if why := s.whyMissing(ctx, t); why != "" {
			s.Missing[t.name] = why
			continue
		}
		tools = append(tools, t)
	}
	var failed []error
	for range b.runs * max(1, m.times) {
		if m.operate != nil {
			if s.base, err = m.operate(s, ctx); err != nil {
				return s.outcome, errors.Join(append(failed, err)...)
			}
		}
		tools = slices.DeleteFunc(tools, func(t tool) bool {
			_ = os.Remove(s.vars["out"]) // of the turn before
			err := m.turn(s, ctx, t)
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", t.name, err))
			}
			return err != nil
		})
	}
	return s.outcome, errors.Join(failed...)
}

// load starts the workload.
func (s *session) load(ctx context.Context) (err error) {
	if s.busy != nil {
		s.profiled, err = s.newWorkload(ctx, s.busy...)
		return err
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	s.vars["tracefs"] = tracefs.Dir()
	if slices.ContainsFunc(s.tools, func(t tool) bool { return strings.Contains(t.line, "$perftools") }) {
		if err := s.mountDebugfs(); err != nil {
			return err
		}
	}
	if s.workload == "" {
		return nil
	}
	if s.program, err = startProgram(s.dir, s.expand(s.workload)); err != nil {
		return err
	}
	s.cleanUp(s.program.stop)
	if why, ok := strings.CutPrefix(s.program.first, "missing: "); ok {
		return missingError(why)
	}
	s.vars["pid"] = strconv.Itoa(s.program.cmd.Process.Pid)
	for _, word := range strings.Fields(s.program.first) {
		name, value, _ := strings.Cut(word, "=")
		s.vars[name] = value
	}
	if s.probe == "" || missing("perf") != "" {
		return nil
	}
	if _, err = s.run(ctx, "perf probe -q "+s.probe); err != nil {
		return err
	}
	s.cleanUp(func() error {
		_, err := s.run(context.Background(), "perf probe -q -d $event") // even where the context has ended
		return err
	})
	return nil
}

// whyMissing says why a tool can't run: "" if it can.
func (s *session) whyMissing(ctx context.Context, t tool) string {
	if s.perfTools == "" && strings.Contains(t.line, "$perftools") {
		return "PERF_TOOLS_DIR is not set"
	}
	if why := missing(s.args(t.line)[0]); why != "" {
		return why
	}
	if t.try == "" {
		return ""
	}
	if why := missing(s.args(t.try)[0]); why != "" {
		return why
	}
	if _, err := s.run(ctx, t.try); err != nil {
		return s.args(t.try)[0] + " does not work with this kernel"
	}
	return ""
}

// missing says why a program cannot run: "" if it can.
func missing(program string) string {
	if _, err := exec.LookPath(program); err != nil {
		return program + " is not installed"
	}
	return ""
}
