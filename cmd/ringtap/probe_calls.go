package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/pair"
	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/uprobe"
)

// callProbes are probes on the entries and the returns of functions.
type callProbes struct {
	out        *console
	logger     *slog.Logger
	target     perfevent.Target
	uprobe     uprobe.Options
	kprobe     kprobe.Options
	userStacks bool
	// count says that functions whose returns can't be seen are probed at their
	// entry, and that functions need not be told apart.
	count bool

	functions []string       // names of those whose calls are timed
	numbers   map[string]int // of functions, in that list
	events    []collect.CallEvent
	atEntry   bool // events that begin calls are where a function's frame is not set up
	kprobes   []*kprobe.Attachment
	closers   []func() error // to be called whether or not there was an error, the last first

	untimed    []string // functions whose calls' ends are not seen
	whyUntimed string
}

// user probes the entries and the returns of user functions of one file. The
// definition has no kind. A function that another file has too is the same one.
func (c *callProbes) user(definition string) error {
	entry, err := resolve(c.out, "p:"+definition, c.uprobe)
	if err != nil {
		return err
	}
	c.closers = append(c.closers, entry.Close)
	leave, err := c.userReturns(entry, definition)
	if err != nil {
		return err
	}
	returns := make(map[string]bool)
	goCode := make(map[string]bool)
	for i := range leave.Sites {
		site := &leave.Sites[i]
		returns[site.Symbol] = true
		c.number(site.Symbol)
		if site.Go {
			site.Args = goroutineStack()
			goCode[site.Symbol] = true
		}
	}
	begin, hits := *entry, *entry
	begin.Sites, hits.Sites = nil, nil
	for _, site := range entry.Sites {
		if goCode[site.Symbol] {
			site.Args = goroutineStack()
		}
		if returns[site.Symbol] {
			begin.Sites = append(begin.Sites, site)
			continue
		}
		hits.Sites = append(hits.Sites, site)
		c.untimed = append(c.untimed, site.Symbol)
	}
	if !c.count && len(begin.Sites) == 0 {
		return fmt.Errorf("%s: %w", definition, errNoReturns)
	}
	sharePlaces(begin.Sites, leave.Sites)
	c.atEntry = (len(c.events) == 0 || c.atEntry) && begin.AtEntry() && hits.AtEntry()
	merge := len(c.functions) <= 1 || c.count && len(entry.Sites) > manyPlaces
	if err := c.attachUser(&begin, collect.CallBegins, merge); err != nil {
		return err
	}
	if err := c.attachUser(leave, collect.CallEnds, merge); err != nil {
		return err
	}
	if !c.count {
		return nil
	}
	return c.attachUser(&hits, collect.CallHit, merge)
}

// userReturns finds the returns of the functions of a plan, but of those whose
// calls may only be counted.
func (c *callProbes) userReturns(entry *uprobe.Plan, definition string) (*uprobe.Plan, error) {
	quiet := *c.out
	quiet.stderr = io.Discard // most notes are the same
	options := c.uprobe
	options.MaxSites *= returnsPerFunction
	leave, err := resolve(&quiet, "r:"+definition, options)
	var place *uprobe.PlaceError
	if c.count && errors.As(err, &place) {
		c.whyUntimed = place.Err.Error()
		return &uprobe.Plan{}, nil
	}
	if err != nil {
		return nil, err
	}
	c.closers = append(c.closers, leave.Close)
	if c.count {
		leave.Sites = slices.DeleteFunc(leave.Sites, func(s uprobe.Site) bool { return s.Return && s.Unwound })
		return leave, nil
	}
	for _, note := range leave.Notes {
		if !slices.Contains(entry.Notes, note) {
			fmt.Fprintln(c.out.stderr, "note:", visible.Text(note))
		}
	}
	return leave, nil
}

// attachUser makes events of the sites of a plan, if it has some. With merge
// functions share an event, and are not told apart.
func (c *callProbes) attachUser(plan *uprobe.Plan, role collect.CallRole, merge bool) error {
	if len(plan.Sites) == 0 {
		return nil
	}
	attachment, err := uprobe.Attach(plan, uprobe.AttachOptions{Target: c.target, Merge: merge, Logger: c.logger})
	if err != nil {
		return wrongDefinition(err)
	}
	c.closers = append(c.closers, attachment.Close)
	for i, event := range attachment.Events {
		e := collect.CallEvent{Event: event, Filter: attachment.Filter, Role: role}
		format := attachment.Formats[i]
		if end := format.Field(goroutineStackEnd); end != nil {
			e.Site.StackEnd = end.Uint
		}
		if !merge && role != collect.CallHit {
			e.Function = c.number(plan.Sites[i].Symbol)
		}
		if role == collect.CallEnds {
			e.Site.Return = format.Field(ftrace.FieldProbeRetIP) != nil
		}
		c.events = append(c.events, e)
	}
	return nil
}

// number is the number of a function, by which its calls are told from others'.
func (c *callProbes) number(function string) int {
	n, known := c.numbers[function]
	if !known {
		if c.numbers == nil {
			c.numbers = make(map[string]int)
		}
		n = len(c.functions)
		c.numbers[function] = n
		c.functions = append(c.functions, function)
	}
	return n
}

// times tells whether there is a function whose calls' ends are seen.
func (c *callProbes) times() bool {
	return slices.ContainsFunc(c.events, func(e collect.CallEvent) bool { return e.Role == collect.CallEnds })
}

// sayUntimed says which functions' calls are counted, or left out, without their
// time.
func (c *callProbes) sayUntimed() {
	if len(c.untimed) == 0 {
		return
	}
	what, why := "is left out", errNoReturns.Error()
	if c.count {
		what = "is counted without its time"
		if c.whyUntimed != "" {
			why = c.whyUntimed
		} else {
			why = "a kernel return probe would end a program that throws an exception through it, and its return instructions are not all its ends: it never returns, or jumps to other functions"
		}
	}
	const few = 3
	for i, name := range c.untimed {
		if i == few {
			fmt.Fprintf(c.out.stderr, "note: and %d more functions\n", len(c.untimed)-few)
			return
		}
		fmt.Fprintf(c.out.stderr, "note: %s %s: %s\n", visible.Text(name), what, visible.Text(why))
	}
}

// sharePlaces has the kernel's return probes at the very instructions of the entry
// probes, so that a call traps there once for both. On amd64 that is where the
// entry probe was moved to, if it was: the return address is still on top of the
// stack there. On arm64 it is in a register, which the function may have signed
// by then (paciasp), so that the entry probe goes back to the first instruction.
func sharePlaces(entry, leave []uprobe.Site) {
	for i := range leave {
		for j := range entry {
			if !leave[i].Return || entry[j].Symbol != leave[i].Symbol || entry[j].Offset-entry[j].Moved != leave[i].Offset {
				continue
			}
			if runtime.GOARCH == "amd64" && entry[j].Entry {
				leave[i].Offset = entry[j].Offset
			} else {
				entry[j].Offset, entry[j].Moved = leave[i].Offset, 0
			}
			break
		}
	}
}

// returnsPerFunction is how many returns each function of a pattern may have that
// are probed one by one.
const returnsPerFunction = 20

// goroutineStackEnd is the name of the field that has the upper end of the
// goroutine's stack.
const goroutineStackEnd = "stack_hi"

// goroutineStack fetches the upper end of the goroutine's stack: g.stack.hi, the
// second word of g since Go 1.4 (runtime/runtime2.go: "offset known to the
// linker").
func goroutineStack() []ftrace.FetchArg {
	return []ftrace.FetchArg{{Name: goroutineStackEnd, Fetch: "+8(" + pair.GoroutineRegister + ")", Type: "u64"}}
}
