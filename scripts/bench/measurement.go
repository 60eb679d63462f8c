package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
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
