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
	alone    operation
	ready    readiness // nil: the tool runs to its end by itself
	under    operation // what is measured while a tool that is ready runs
	again    bool      // alone is measured after each turn, too, and its base is the mean
	pinned   bool      // the tools are kept on CPU 0
	times    int       // turns of each tool in a run; 0: one
	tools    []tool
	read     []reading // what each turn adds
	compare  []comparison
}

// tool is one that takes turns. Its lines are command lines, see session.args.
type tool struct {
	name   string
	line   string
	count  counter
	read   []reading // nil: the measurement's
	slower int       // its rounds have this many times fewer calls; 0: as many
	killed bool      // it may take minutes to print what it has, which is not waited for
	try    string    // a line that fails where the tool can't work
	clean  string    // a line that removes what the tool, process $tool, leaves behind if it is killed
}

// comparison is a row of the printed table. Own names ringtap's values of an outcome,
// peer those of the tool that it is compared with.
type comparison struct {
	what, unit string
	own, peer  string
	most       float64 // of own/peer, or of own without a peer; negative: no target
}

// quantities are what one operation takes, by name; "" is the main one.
type quantities map[string]float64

// operation measures the workload, alone or under the tool of the turn.
type operation func(context.Context, *turn) (quantities, error)

// readiness waits until the tool of the turn is ready, or until nothing is left of it.
type readiness func(ctx context.Context, t *turn, ready bool) error

// reading is a quantity that a turn adds.
type reading struct {
	quantity string
	value    value
}

// value reads a quantity from what the tool of a turn has used or printed, or from what
// the operation under it took.
type value func(context.Context, *turn) (float64, error)

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
		"hits": strconv.Itoa(10 * b.hits), "lock": perfToolsLock, "group": group, "event": group + ":hit", "self": self,
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

// cleanUp is called with what must be undone after the measurement, last things first.
func (s *session) cleanUp(f func() error) { s.undo = append(s.undo, f) }
