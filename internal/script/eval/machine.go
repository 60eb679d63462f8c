// Package eval runs checked programs. A program becomes closures once; a hit then runs the
// closures of its clause. Package eval knows nothing of rings, tracefs or files: what it needs
// of the host it asks a Host, and what a program prints goes to an Output.
package eval

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/show"
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/internal/script/value"
)

// A Hit is one event of one attach point.
type Hit struct {
	Time     uint64 // nanoseconds of CLOCK_MONOTONIC
	CPU      int
	PID, TID uint32
	Probe    string // the attach point as the builtin probe shows it
	Times    uint64 // how many hits like it there were, for count(), sum(), min() and max(); 0 is one
	Values   Values // nil if no clause of the probe needs any
}

// Values are what a clause needs from a hit. They are asked for when they are needed, which may
// be never or more than once.
type Values interface {
	// Value returns the value of a Source of the clause, by its index.
	Value(source int) value.Value
	// Comm returns the name of the thread.
	Comm() string
}

// An Output prints what a program says. *show.Printer is one.
type Output interface {
	Printf(f *show.Format, args []value.Value)
	Sprintf(f *show.Format, args []value.Value) string
	SprintfRaw(f *show.Format, args []value.Value) string
	Value(t *types.Type, v value.Value)
	Map(m *value.Map, top int, div uint64)
	Element(m *value.Map, k value.Key)
	Time(format string, at time.Time)
	Cat(text []byte)
	System(text []byte)
	Join(words []string, delimiter string, late bool)
}

// A Host answers what a program asks while it runs.
type Host interface {
	// Clock returns the time of a hit by another clock: boot, tai or sw_tai.
	Clock(mode string, monotonic uint64) uint64
	// Wall returns the wall clock of a hit.
	Wall(monotonic uint64) time.Time
	// Read reads memory of the process of a hit, or of the kernel. It returns false if it can't,
	// and whether it read later than the hit.
	Read(h *Hit, address uint64, user bool, b []byte) (ok, late bool)
	// Text returns the text at an address of the process of a hit as it was at the hit, or when
	// a probe took the address along; false if neither is known. It is late if it may have
	// changed.
	Text(h *Hit, address uint64) (text string, late, ok bool)
	// UserAddress returns the number that stands for an address of the process of a hit.
	UserAddress(h *Hit, address uint64) uint64
	// Frames returns how many frames a stack has.
	Frames(stack uint64, user bool) int
	// Word returns the name of a number: of an error (strerror), a signal (signal_name), a system
	// call (syscall_name), of a process as it is now (comm), or of the file that is a descriptor
	// of a hit's thread now (fdpath).
	Word(h *Hit, function string, n int64) string
	// System runs a command and returns what it prints.
	System(command string) []byte
	// File returns the start of a file.
	File(path string, most int) ([]byte, error)
	// Signal sends a signal to the process of a hit, or to its thread. It is a number or a name.
	Signal(h *Hit, number int64, name string, thread bool) error
	// Message tells the user something at a place of the program.
	Message(l Level, pos syntax.Pos, text string)
}

// Level says how bad a message is.
type Level uint8

// The levels.
const (
	Debug Level = iota
	Warning
	Error
)

// noValues are the values of a hit that has none.
type noValues struct{}

func (noValues) Value(int) value.Value { return value.Value{} }
func (noValues) Comm() string          { return "" }

// Bounds of what a program may use.
const (
	maxSteps = 20_000_000 // rounds of loops and calls in one hit, if nothing else bounds them
	maxDepth = 256        // calls of functions in each other
	maxBytes = 256 << 20  // the memory of one map, if nothing else bounds it
)

// Options are what a program runs with.
type Options struct {
	Dialect check.Dialect
	Output  Output
	Host    Host
	CPUs    int
	Child   int    // the process of -c
	Seed    uint64 // of rand
	Bytes   int64  // bound of one map's memory, 0 for 256 MiB
	Deletes bool   // say which delete() finds nothing
	// SeriesClock names the map without keys that holds the time of tseries(), in nanoseconds. If it is
	// empty, tseries() takes the wall clock. bpftrace's tests set it.
	SeriesClock string
	Steps       int // bound of the rounds of loops and calls in one hit, 0 for 20 million
}

// A Machine runs one program. It is for one goroutine: its caller feeds it the hits of all
// probes in the order of their times.
type Machine struct {
	// Maps are the program's maps, by their indexes.
	Maps []*value.Map
	// Late counts, of each map, the keys and numbers that came from memory that was read later
	// than the hit.
	Late []uint64

	prog    *check.Program
	opts    Options
	clauses []clause
	rand    *rand.Rand
	start   uint64

	hit    *Hit
	values Values
	vars   []value.Value // the frame of the clause or function that runs
	frame  []value.Value // of clauses
	depth  int
	steps  int
	times  uint64      // of the hit
	result value.Value // of the function that returned

	late    bool // what is evaluated was read later than the hit
	lateKey bool // so was the key that was evaluated last, if that may be
	leaving bool // exit() was called in this hit
	exited  bool
	code    int
	said    map[syntax.Pos]bool // places that said what cannot be said at every hit

	interrupted atomic.Bool
	lastRounds  int // rounds of loops and calls since then
}

// maxLastRounds is how many rounds of loops and calls there may be after an interruption: for the hits
// that came before it and are not handled yet.
const maxLastRounds = 1 << 20

type clause struct {
	predicate intFunc // nil if there is none
	body      doFunc
	vars      int
}

// New makes a Machine of a program. Its elapsed starts with the first hit.
func New(p *check.Program, opts Options) (*Machine, error) {
	m := &Machine{
		prog: p, opts: opts, rand: rand.New(rand.NewPCG(opts.Seed, opts.Seed^0x9e3779b97f4a7c15)),
		said: map[syntax.Pos]bool{},
	}
	if m.opts.Bytes == 0 {
		m.opts.Bytes = maxBytes
	}
	if m.opts.Steps == 0 {
		m.opts.Steps = maxSteps
	}
	for _, decl := range p.Maps {
		spec := decl.Spec
		if spec.MaxKeys == 0 {
			spec.MaxKeys = p.Config.MaxMapKeys
		}
		spec.MaxBytes = m.opts.Bytes
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

// Hit runs the clause with that index at a hit. Nothing runs after exit(), except clauses that
// are run with End.
func (m *Machine) Hit(clause int, h *Hit) {
	if !m.exited {
		m.run(clause, h)
	}
}

// End runs a clause of an end probe, also after exit().
func (m *Machine) End(clause int, h *Hit) { m.run(clause, h) }

// Exited tells whether the program called exit(), and with what code.
func (m *Machine) Exited() (code int, exited bool) { return m.code, m.exited }

// Start tells when the program started, for elapsed.
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

// step counts a round of a loop or a call. It returns false when the program does too many, or
// leaves the hit.
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
	if m.steps <= m.opts.Steps {
		return true
	}
	m.once(pos, fmt.Sprintf("this stopped after %d rounds of loops and calls in one hit", m.opts.Steps))
	return false
}

// once says something about a place the first time that it happens.
func (m *Machine) once(pos syntax.Pos, text string) {
	if !m.said[pos] {
		m.said[pos] = true
		m.opts.Host.Message(Warning, pos, text)
	}
}
