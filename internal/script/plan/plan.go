// Package plan decides what a program attaches, and where each value that it takes from a
// hit comes from.
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

	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
)

// Place is what sort of place an Event is at.
type Place uint8

// The places.
const (
	User       Place = iota // Definition is package uprobe's
	Kernel                  // Definition is package kprobe's
	Tracepoint              // Definition is SYSTEM:EVENT, or a pattern
	Sampled                 // Sample says what
)

// An Event is attached once, for all clauses that run at its hits.
type Event struct {
	Place      Place
	Definition string // without Fetch
	Fetch      []Fetch
	Sample     Sample
	Uses       []Use               // in the order of the text; none of one that is attached for its Fetch alone
	Point      *syntax.AttachPoint // that it was first planned for
	Entry      *Event              // of a return: what its hits take from the function's entry, nil for nothing
	Behind     Behind              // of a tracepoint
	Iterates   string              // the tracepoint SYSTEM:EVENT that calls the function which is probed; "" of all other functions
	// Stacks that a hit must carry.
	KernelStack, UserStack bool
	// Pieces are what memory the record has for reads at addresses out of maps.
	Pieces []Piece
	// Keeps are what addresses the record has that clauses keep in maps, and Kept what clauses
	// read at such an address that the thread has kept.
	Keeps []Keep
	Kept  []Kept
	// Here are what memory the record has for reads of its own hit.
	Here []Piece
	// Walks are what a helper reads for the clauses while the thread is stopped.
	Walks []Walk
	// Reads says that clauses read the process's memory at addresses that only the running
	// program knows.
	Reads bool
	// Filter is what the kernel may filter the hits by; nil for nothing.
	Filter *Condition
	// Who is what the process and the thread of a hit must be, where Filter can't say it since no
	// record has the process: for any clause to do anything. Nil for anything.
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

// fetch returns the name of the field that has a fetch argument.
func (e *Event) fetch(text string) string { return fetched(&e.Fetch, text) }

// fetched returns the name of the field that has a fetch argument, which is added to the list if it
// is not there.
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

// Behind is what lies in the kernel's memory behind the fields of a tracepoint's record. An event
// probe on the tracepoint fetches it at the hit, into a record of its own.
type Behind struct {
	Fetch []Fetch // "$FIELD" is a field of the tracepoint's record
	Same  []Same
}

// Same is a field that both records have.
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

// Fetch is an argument that the kernel fetches at a hit.
type Fetch struct {
	Name string // of the record's field
	Text string // in the grammar of fetch arguments, with the type
}

// Use is one clause at an attach point.
type Use struct {
	Clause int // in check.Program.Clauses
	Point  *syntax.AttachPoint
	Period uint64  // of a software event: the clause runs at one of so many events, a multiple of Sample.Period
	Fields []Field // of each Source of the clause
	Reads  []Read  // of its clause, at addresses out of maps
}

// From says where a value is.
type From uint8

// The ways to a value.
const (
	Record      From = iota // the field Name of the record
	RecordText              // the text that the pointer in the field Name leads to: a system call's
	KernelStack             // the kernel stack
	UserStack               // the user stack
	Function                // the name of the function that was hit
	Process                 // what Root names, of the process that was hit
	Memory                  // the process's memory: Source.Path leads there from the field Name
	Entry                   // the field Name of the record of the function's entry
	EventProbe              // the field Name of the record of the event probe on the tracepoint
	Address                 // the address of a variable of the program: Offset from what the file's start would be
	Task                    // the kernel's memory, a moment later: Source.Path leads there from the struct of the thread
)

// Field is where a value comes from.
type Field struct {
	From   From
	Name   string
	Offset int64      // of Address
	Root   check.Root // of Process; with TaskRoot, Name is tid, comm or a file of /proc/PID/ns
}

// Host is what the planner asks the host.
type Host interface {
	// Args returns the arguments of an attach point as a struct, in the order of the call. The
	// offset of a function's is 8 times the number of its $argN, from 0, or negative if it is none.
	Args(p *syntax.AttachPoint) (*types.Type, error)
	// Offset returns where a member of a struct of the kernel is, or a member of a member: a.b.
	Offset(structure, member string) (offset int, ok bool)
	// Tasks returns why the struct of a thread can't be found in the kernel's memory; nil if it can.
	Tasks() error
	// Symbol returns the address and the size of a symbol of the kernel, or, with a point, where a
	// symbol of its program is, as uprobe.Variable tells it.
	Symbol(name string, p *syntax.AttachPoint) (address uint64, size int, err error)
	// ReadsOnly tells whether a parameter of a function of the kernel, by its number, points to
	// what the function does not change.
	ReadsOnly(p *syntax.AttachPoint, parameter int) bool
	// RawArguments returns why the arguments of a raw tracepoint can't be had; nil if the function that
	// is called with them, Iterator with the tracepoint's name behind it, can be probed.
	RawArguments(p *syntax.AttachPoint) error
	// Text tells whether a field of a tracepoint is a parameter of a system call that points to text,
	// or to pointers to texts.
	Text(p *syntax.AttachPoint, field string) bool
	// EventProbes returns why the kernel can't put a probe on a tracepoint that fetches memory; nil if it can.
	EventProbes() error
}

// Make returns the events of a program. Clauses of begin, end, interval and the like have
// none. What can't be attached is a *syntax.Error at its attach point.
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

// planner makes the events of a program.
type planner struct {
	host   Host
	events []*Event
	places map[string]*Event // by what they attach to
	errs   []*syntax.Error
	point  *syntax.AttachPoint
	source *check.Source // nil where it is about the attach point
}

// refuse notes what is wrong with the attach point or the source under way.
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

// planned returns the event of the program that attaches to the same, which is this one if it is
// the first.
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
