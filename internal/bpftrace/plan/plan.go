// Package plan decides which events a bpftrace program attaches to, and where each value that the
// program takes from a hit comes from.
//
//	check.Clause ─┬─ attach points → Event: a definition of uprobe or kprobe, a tracepoint,
//	              │                  a sampled event; one for all clauses at a place
//	              └─ Sources ──────→ Field: a fetch argument, a field of the record, a stack
//
// The result is plain data. The package opens nothing and knows no rings.
package plan

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// Place is the kind of place that an Event is at.
type Place uint8

// The places.
const (
	User       Place = iota // Definition has the syntax of package uprobe
	Kernel                  // Definition has the syntax of package kprobe
	Tracepoint              // Definition is SYSTEM:EVENT, or a pattern
	Sampled                 // described by Sample
)

// An Event is attached once, for all clauses that run at its hits.
type Event struct {
	Place      Place
	Definition string // without Fetch
	Fetch      []Fetch
	Sample     Sample
	Uses       []Use               // in the order of the program; empty if it is attached only for its Fetch
	Point      *syntax.AttachPoint // the first attach point that it was planned for
	Entry      *Event              // of a return: the event at the function's entry that it takes values from, or nil
	Behind     Behind              // of a tracepoint: kernel memory that its fields point to
	Iterates   string              // the tracepoint SYSTEM:EVENT that calls the probed Iterator function; "" for other functions
	// The stacks that a hit must carry.
	KernelStack, UserStack bool
	// Pieces is memory that is copied into the record of a hit. Clauses read it at later hits, at
	// addresses that they take from maps.
	Pieces []Piece
	// Keeps are addresses in the record of a hit that clauses store in maps. Kept is memory at such
	// addresses, which the helper (see readmem/helper) reads at a later hit of the same thread.
	Keeps []Keep
	Kept  []Kept
	// Here is memory that is copied into the record of a hit, for reads at the same hit.
	Here []Piece
	// Walks is memory that the helper reads for the clauses while the thread is stopped.
	Walks []Walk
	// Reads reports whether clauses read the process's memory at addresses that are known only at
	// run time.
	Reads bool
	// Filter is the condition that the kernel may filter hits by, or nil.
	Filter *Condition
	// Who is the condition on the process and thread of a hit under which any clause does anything,
	// or nil. It is separate from Filter because no record contains the process id.
	Who *Condition
}

// String returns the definition with its fetch arguments.
func (e *Event) String() string {
	if e.Place == Sampled {
		return e.Sample.String()
	}
	var s strings.Builder
	s.WriteString(e.Definition)
	for _, f := range e.Fetch {
		fmt.Fprintf(&s, " %s=%s", f.Name, f.Text)
	}
	return s.String()
}

// fetch returns the name of the record's field for a fetch argument. It adds the argument if the
// event does not have it yet.
func (e *Event) fetch(text string) string { return fetched(&e.Fetch, text) }

// fetched returns the name of the entry of list with this text. It adds an entry if there is none.
func fetched(list *[]Fetch, text string) string {
	for _, f := range *list {
		if f.Text == text {
			return f.Name
		}
	}
	name := fmt.Sprintf("v%d", len(*list))
	*list = append(*list, Fetch{Name: name, Text: text})
	return name
}

// Behind is kernel memory that the fields of a tracepoint's record point to. An event probe on the
// tracepoint fetches it at the hit, into a record of its own.
type Behind struct {
	Fetch []Fetch // "$FIELD" is a field of the tracepoint's record
	Same  []Same
}

// Same is a field that both records have. The records of a hit are matched by such fields.
type Same struct {
	Field string // of the tracepoint's record
	Fetch string // the name in Behind.Fetch
}

// String returns the arguments of the event probe.
func (b *Behind) String() string {
	words := make([]string, len(b.Fetch))
	for i, f := range b.Fetch {
		words[i] = f.Name + "=" + f.Text
	}
	return strings.Join(words, " ")
}

// Fetch is a value that the kernel fetches at a hit.
type Fetch struct {
	Name string // the field's name in the record
	Text string // the fetch argument, with its type
}

// Use is one clause at an attach point.
type Use struct {
	Clause int // in check.Program.Clauses
	Point  *syntax.AttachPoint
	Period uint64  // of a software event: the clause runs once every Period events, a multiple of Sample.Period
	Fields []Field // for each Source of the clause
	Reads  []Read  // of the clause, at addresses that it takes from maps or computes
}

// From is the origin of a value.
type From uint8

// The origins of a value.
const (
	Record      From = iota // the field Name of the record
	RecordText              // the text that the field Name, a parameter of a system call, points to
	KernelStack             // the kernel stack
	UserStack               // the user stack
	Function                // the name of the function that was hit
	Process                 // the value that Root names, of the process that was hit
	Memory                  // the process's memory, along Source.Path from the field Name
	Entry                   // the field Name in the record of the function's entry
	EventProbe              // the field Name in the record of the event probe on the tracepoint
	Address                 // the address of a variable of the program, Offset bytes from the file's start in memory (see uprobe.Variable)
	Task                    // the kernel's memory, read shortly after the hit, along Source.Path from the thread's task_struct
)

// Field says where to find a value.
type Field struct {
	From   From
	Name   string
	Offset int64      // for Address
	Root   check.Root // for Process; with TaskRoot, Name is tid, comm or ns/FILE of /proc/PID/ns
}

// Host answers the planner's questions about the machine.
type Host interface {
	// Args returns the arguments of an attach point as a struct, in the order of the call. For a
	// function, the offset of argument N is 8*N, counted as in argN. It is negative if the argument
	// is not in a register.
	Args(p *syntax.AttachPoint) (*types.Type, error)
	// Offset returns the offset of a member in a kernel struct. The member may be nested: a.b.
	Offset(structure, member string) (offset int, ok bool)
	// Tasks returns why the task_struct of a thread cannot be found in the kernel's memory, or nil
	// if it can.
	Tasks() error
	// Symbol returns the address and the size of a kernel symbol. If p is not nil, it returns the
	// offset of a symbol in the program of p (see uprobe.Variable).
	Symbol(name string, p *syntax.AttachPoint) (address uint64, size int, err error)
	// ReadsOnly reports whether a kernel function only reads the memory that a parameter points to.
	// parameter is the parameter's index.
	ReadsOnly(p *syntax.AttachPoint, parameter int) bool
	// RawArguments returns why the arguments of a raw tracepoint cannot be read. It returns nil if
	// the function Iterator + EVENT can be probed.
	RawArguments(p *syntax.AttachPoint) error
	// Text reports whether a field of a tracepoint is a system call's parameter that points to a
	// string, or to pointers to strings.
	Text(p *syntax.AttachPoint, field string) bool
	// EventProbes returns why the kernel cannot put a probe that fetches memory on a tracepoint, or
	// nil if it can.
	EventProbes() error
}

// Make returns the events that a program attaches to. Clauses of begin, end, interval and the like
// have no event. For each attach point that is impossible, Make returns a *syntax.Error.
func Make(prog *check.Program, host Host) ([]*Event, []*syntax.Error) {
	p := planner{host: host, places: make(map[string]*Event)}
	for i, clause := range prog.Clauses {
		for _, point := range clause.Points {
			p.point = point
			p.add(i, clause)
		}
	}
	p.followPointers(prog)
	if len(p.errs) == 0 {
		p.filter(prog)
	}
	return p.events, p.errs
}

// planner collects the events of a program.
type planner struct {
	host   Host
	events []*Event
	places map[string]*Event // by place: see planned
	errs   []*syntax.Error
	point  *syntax.AttachPoint
	source *check.Source // the source under way; nil for errors about the attach point
}

// refuse notes an error about p.source, or about the attach point if that is nil.
func (p *planner) refuse(hint, format string, args ...any) {
	e := &syntax.Error{Pos: p.point.Pos, Len: len(p.point.Text), Msg: fmt.Sprintf(format, args...), Hint: hint}
	if p.source != nil {
		e.Pos, e.Len = p.source.Pos, 0
	}
	p.errs = append(p.errs, e)
}

// add plans a clause at an attach point.
func (p *planner) add(clause int, c *check.Clause) {
	var event *Event
	switch p.point.Provider {
	case "begin", "end", "interval", "self", "test", "bench", "iter":
		return
	case "tracepoint":
		event = p.tracepoint()
	case "rawtracepoint":
		event = p.raw(c)
	case "kprobe", "kretprobe", "fentry", "fexit":
		event = p.kernel()
	case "uprobe", "uretprobe":
		event = p.user()
	case "usdt":
		event = p.mark()
	case "profile", "software", "hardware", "watchpoint":
		event = p.sampled()
	default:
		p.impossible()
	}
	if event == nil {
		return
	}
	use := Use{Clause: clause, Point: p.point}
	if event.Sample.shared() {
		use.Period = event.Sample.Period
	}
	event = p.planned(event)
	for _, source := range c.Sources {
		field, ok := p.field(event, source)
		if !ok {
			return
		}
		use.Fields = append(use.Fields, field)
	}
	event.Uses = append(event.Uses, use)
}

// planned returns the event that is already planned at the place of event. If there is none, it adds
// event and returns it.
func (p *planner) planned(event *Event) *Event {
	key := fmt.Sprint(event.Place, event.Definition, event.Sample)
	shared := event.Sample.shared()
	if shared {
		key = "software " + event.Sample.Name
	}
	if known := p.places[key]; known != nil {
		if shared {
			known.Sample.once(event.Sample)
		}
		return known
	}
	event.Point = p.point
	p.places[key] = event
	p.events = append(p.events, event)
	return event
}
