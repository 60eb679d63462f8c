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

// measurement is an entry of the table. The runner starts the workload, then gives
// each tool one turn in every run, and compares the values that the turns added.
type measurement struct {
	name     string
	kernel   string    // the kernel of the guest to run in; "": this machine
	workload string    // a script: see program
	probe    string    // the arguments with which perf probe creates $event, if perf is installed
	busy     []string  // programs of package truth that run during each turn, in addition to Go code
	alone    operation // measured without a tool; nil: nothing
	ready    readiness // nil: the tool ends by itself
	under    operation // measured while a tool runs and is ready
	again    bool      // measure alone after each turn, too, and use the mean as its base
	pinned   bool      // the tools are kept on CPU 0
	times    int       // turns of each tool in a run; 0: one
	tools    []tool
	read     []reading // the values that each turn adds
	compare  []comparison
}

// tool is a tool that takes turns. line, try and clean are command lines: see session.args.
type tool struct {
	name   string
	line   string
	count  counter
	read   []reading // nil: the measurement's
	slower int       // the factor by which its rounds have fewer calls; 0: one
	killed bool      // it may take minutes to print its results, and is killed instead
	try    string    // a line that fails if the tool can't work here
	clean  string    // a line that removes what the tool (process $tool) leaves behind if it is killed
}

// comparison is a row of the printed table. own names ringtap's values in an outcome, and peer
// the values of the tool that it is compared with.
type comparison struct {
	what, unit string
	own, peer  string
	most       float64 // of own/peer, or of own without a peer; negative: no target
}

// quantities are the values that one operation measures, by name. "" is the main one.
type quantities map[string]float64

// operation measures the workload, alone or under the tool of the turn.
type operation func(context.Context, *turn) (quantities, error)

// readiness waits until the tool of the turn is ready or, if ready is false, until nothing of it is left.
type readiness func(ctx context.Context, t *turn, ready bool) error

// reading is a quantity that a turn adds to the outcome.
type reading struct {
	quantity string
	value    value
}

// value returns a quantity of a turn: from what the tool used or printed, or from what was
// measured while it ran.
type value func(context.Context, *turn) (float64, error)

// outcome is the result of a measurement.
type outcome struct {
	Values  map[string][]float64 // a value for each turn, by TOOL or "TOOL: QUANTITY"
	Notes   map[string]string    // by tool
	Missing map[string]string    // why a tool can't run, by tool
}

// session is a running measurement.
type session struct {
	*bench
	measurement
	outcome
	vars     map[string]string // the variables in command lines
	base     quantities        // measured without a tool
	program  *program
	profiled workload
	undo     []func() error
}

func (b *bench) newSession(m measurement) *session {
	// ringtap selects the output form by the file's extension.
	out, group := filepath.Join(b.dir, "out.folded"), fmt.Sprintf("bench_%d", os.Getpid())
	self, _ := os.Executable()
	s := &session{bench: b, measurement: m, vars: map[string]string{
		"ringtap": b.ringtap, "perftools": b.perfTools, "dir": b.dir, "out": out,
		"seconds": strconv.Itoa(b.seconds), "interval": strconv.Itoa(2 * b.seconds),
		"hits": strconv.Itoa(10 * b.hits), "lock": perfToolsLock, "group": group, "event": group + ":hit", "self": self,
		"last": strconv.Itoa(runtime.NumCPU() - 1), "others": fmt.Sprintf("0-%d", max(runtime.NumCPU()-2, 0)),
	}}
	if b.flameGraph != "" {
		s.vars["collapse"] = "| perl " + filepath.Join(b.flameGraph, "stackcollapse-perf.pl")
	} else {
		s.vars["collapse"] = ""
	}
	s.Values, s.Notes, s.Missing = map[string][]float64{}, map[string]string{}, map[string]string{}
	return s
}

// args splits a command line into its arguments: words and 'quoted strings'. $out is the file
// for a tool's results, and $event the event that perf probe made on the workload.
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

// cleanUp registers a function to call after the measurement. The last one is called first.
func (s *session) cleanUp(f func() error) { s.undo = append(s.undo, f) }
