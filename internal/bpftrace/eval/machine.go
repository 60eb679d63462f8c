// Package eval runs checked programs. It compiles a program to closures once. A hit then runs the
// closures of its clause. Package eval knows nothing about rings, tracefs or files. It asks a Host
// for what it needs and prints to an Output.
package eval

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/show"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// A Hit is one event at one attach point.
type Hit struct {
	Time     uint64 // nanoseconds of CLOCK_MONOTONIC
	CPU      int
	PID, TID uint32
	Probe    string // the attach point, as the builtin probe prints it
	Times    uint64 // how many equal hits this stands for, for count(), sum(), min() and max(); 0 means 1
	Values   Values // nil if no clause of the probe needs values
}

// Values are what a clause needs from a hit. Each is computed when it is asked for, which may be
// never or more than once.
type Values interface {
	// Value returns the value of a Source of the clause, by its index.
	Value(source int) value.Value
	// Comm returns the name of the thread.
	Comm() string
}

// An Output prints a program's output. *show.Printer is one.
type Output interface {
	Printf(f *show.Format, args []value.Value)
	Sprintf(f *show.Format, args []value.Value) string
	SprintfRaw(f *show.Format, args []value.Value) string
	Value(t *types.Type, v value.Value)
	Map(m *value.Map, top int, div uint64)
	Element(m *value.Map, k value.Key)
	Time(format string, t time.Time)
	Cat(text []byte)
	System(text []byte)
	Join(words []string, delimiter string, late bool)
}

// A Host provides what a program needs while it runs.
type Host interface {
	// Clock converts the time of a hit to another clock: boot, tai or sw_tai.
	Clock(mode string, monotonic uint64) uint64
	// Wall returns the wall-clock time of a hit.
	Wall(monotonic uint64) time.Time
	// Read reads memory of a hit's process, or of the kernel if user is false. It returns false if
	// it cannot. late says that it read later than the hit.
	Read(h *Hit, address uint64, user bool, b []byte) (ok, late bool)
	// Text returns the string at an address of a hit's process. It is the string at the hit, or at
	// the time when a probe copied it. late says that it may have changed since. ok is false if no
	// such copy exists.
	Text(h *Hit, address uint64) (text string, late, ok bool)
	// UserAddress returns the number that stands for an address in a hit's process.
	UserAddress(h *Hit, address uint64) uint64
	// Frames returns the number of frames of a stack.
	Frames(stack uint64, user bool) int
	// Word returns the name of a number: an error (strerror), a signal (signal_name), or a system
	// call (syscall_name). It also returns the current name of a process (comm), and the file that
	// a descriptor of the hit's thread refers to now (fdpath).
	Word(h *Hit, function string, n int64) string
	// System runs a command and returns its output.
	System(command string) []byte
	// File returns the start of a file, at most limit bytes.
	File(path string, limit int) ([]byte, error)
	// Signal sends a signal, given by number or name, to the process or the thread of a hit.
	Signal(h *Hit, number int64, name string, thread bool) error
	// Message reports something to the user, with its position in the program.
	Message(l Level, pos syntax.Pos, text string)
}

// Level is the severity of a message.
type Level uint8

// The levels.
const (
	Debug Level = iota
	Warning
	Error
)

// noValues is used for hits without values.
type noValues struct{}

func (noValues) Value(int) value.Value { return value.Value{} }
func (noValues) Comm() string          { return "" }

// The default limits of a program.
const (
	maxSteps = 20_000_000 // rounds of loops and calls per hit
	maxDepth = 256        // depth of function calls
	maxBytes = 256 << 20  // memory of one map
)

// Options configure a Machine.
type Options struct {
	Dialect check.Dialect
	Output  Output
	Host    Host
	CPUs    int
	Child   int    // process id of the child of -c
	Seed    uint64 // of rand
	bytes   int64  // limit of each map's memory in bytes, 0 for maxBytes
	Deletes bool   // warn if delete() finds no key
	// SeriesClock is the name of a map without keys that holds the time for tseries(), in
	// nanoseconds. bpftrace's tests set it. If it is empty, tseries() uses the wall clock.
	SeriesClock string
	steps       int // limit of rounds of loops and calls per hit, 0 for maxSteps
}

// A Machine runs one program. Only one goroutine may use it. The caller passes the hits of all
// probes in time order.
type Machine struct {
	// Maps are the program's maps, by index.
	Maps []*value.Map
	// Late counts, for each map, the keys and numbers that came from memory read later than the
	// hit.
	Late []uint64

	prog    *check.Program
	opts    Options
	clauses []clause
	rand    *rand.Rand
	start   uint64

	hit    *Hit
	values Values
	vars   []value.Value // the frame of the clause or function that is running
	frame  []value.Value // the memory for the frames of clauses
	depth  int
	steps  int
	times  uint64      // Hit.Times, at least 1
	result value.Value // of the function or clause that returned

	late    bool // the current expression read memory later than the hit
	lateKey bool // the last evaluated key was late; only set if it can be
	leaving bool // exit() was called in this hit
	exited  bool
	code    int
	said    map[syntax.Pos]bool // positions that have already warned

	interrupted atomic.Bool
	lastRounds  int // rounds of loops and calls since the interruption
}

// maxLastRounds is how many rounds of loops and calls may still run after an interruption. Hits
// from before the interruption may still be waiting.
const maxLastRounds = 1 << 20

type clause struct {
	predicate intFunc // nil if there is none
	body      doFunc
	vars      int
}

// New compiles a program. elapsed counts from the time given to Start.
func New(p *check.Program, opts Options) (*Machine, error) {
	m := &Machine{
		prog: p, opts: opts, rand: rand.New(rand.NewPCG(opts.Seed, opts.Seed^0x9e3779b97f4a7c15)),
		said: map[syntax.Pos]bool{},
	}
	if m.opts.bytes == 0 {
		m.opts.bytes = maxBytes
	}
	if m.opts.steps == 0 {
		m.opts.steps = maxSteps
	}
	for _, decl := range p.Maps {
		spec := decl.Spec
		if spec.MaxKeys == 0 {
			spec.MaxKeys = p.Config.MaxMapKeys
		}
		spec.MaxBytes = m.opts.bytes
		m.Maps = append(m.Maps, value.New(spec))
	}
	m.Late = make([]uint64, len(m.Maps))
	c := &compiler{m: m, functions: map[*check.Function]*function{}, late: map[*check.Var]bool{}}
	size := 0
	for _, cl := range p.Clauses {
		c.sources = cl.Sources
		c.findLate(cl.Body)
		out := clause{vars: len(cl.Vars), body: c.block(cl.Body)}
		if cl.Predicate != nil {
			out.predicate = c.truth(cl.Predicate)
		}
		size = max(size, out.vars)
		m.clauses = append(m.clauses, out)
	}
	if c.err != nil {
		return nil, c.err
	}
	m.frame = make([]value.Value, size)
	return m, nil
}

// Hit runs a clause, by its index, at a hit. It does nothing after exit().
func (m *Machine) Hit(clause int, h *Hit) {
	if !m.exited {
		m.run(clause, h)
	}
}

// End runs a clause of an end probe, even after exit().
func (m *Machine) End(clause int, h *Hit) { m.run(clause, h) }

// Exited reports whether the program called exit(), and with which code.
func (m *Machine) Exited() (code int, exited bool) { return m.code, m.exited }

// Start sets the time from which elapsed counts, in nanoseconds of CLOCK_MONOTONIC.
func (m *Machine) Start(monotonic uint64) { m.start = monotonic }

func (m *Machine) run(n int, h *Hit) {
	c := &m.clauses[n]
	m.hit, m.steps, m.depth, m.leaving, m.result = h, 0, 0, false, value.Value{}
	if m.values = h.Values; m.values == nil {
		m.values = noValues{}
	}
	m.times = max(h.Times, 1)
	m.vars = m.frame[:c.vars]
	clear(m.vars)
	if c.predicate != nil && c.predicate(m) == 0 {
		return
	}
	c.body(m)
}

// step counts a round of a loop or a call. It returns false if there were too many, or if the
// program has called exit() in this hit.
func (m *Machine) step(pos syntax.Pos) bool {
	m.steps++
	if m.leaving {
		return false
	}
	if m.interrupted.Load() {
		if m.lastRounds++; m.lastRounds > maxLastRounds {
			return false
		}
	}
	if m.steps <= m.opts.steps {
		return true
	}
	m.once(pos, fmt.Sprintf("this stopped after %d rounds of loops and calls in one hit", m.opts.steps))
	return false
}

// once reports a warning at a position, the first time only.
func (m *Machine) once(pos syntax.Pos, text string) {
	if !m.said[pos] {
		m.said[pos] = true
		m.opts.Host.Message(Warning, pos, text)
	}
}
