package allocator

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/uprobe"
)

// Role says what a hit of an Event is.
type Role uint8

// The roles of events.
const (
	Begins      Role = iota // a call of a function that Returns begins: who calls, and how much is wanted
	Ends                    // it ends: the address
	EndsThrough             // the same of a function with Through
	Gives                   // a call of a function that frees or unmaps
)

// Event is an event of several places.
type Event struct {
	perfevent.Event
	Role Role
	// AtEntry says that at every place the function's frame is not set up yet.
	AtEntry bool
	// functions by the lower bits of the address that was hit, and one more: files
	// are mapped in whole pages.
	functions [pageBytes]*Function
}

// pageBytes is the smallest page.
const pageBytes = 4096

// Function returns the function that was hit, of events that are not Ends, whose
// hits are where the function returns to. It is nil for an address that has none.
func (e *Event) Function(ip uint64) *Function { return e.functions[ip%pageBytes] }

// Written is the registers that addresses may be in: see Function.Written.
func (e *Event) Written() (mask uint64) {
	for _, f := range e.functions {
		if f != nil && f.Written > 0 {
			mask |= 1 << (f.Written - 1)
		}
	}
	return mask
}

// Place says which function is at an offset of a file. It reports false if that
// could be taken for another one's place.
func (e *Event) Place(offset uint64, f *Function) bool {
	place := &e.functions[offset%pageBytes]
	if *place != nil {
		return false
	}
	*place = f
	return true
}

// Attachment is probes that the kernel knows.
type Attachment struct {
	Events   []*Event // those that end calls first
	attached []*uprobe.Attachment
}

// Attach makes events of functions. Nothing is traced until a perf session opens
// them. Errors are those of uprobe.Attach.
func Attach(p *Probes, target perfevent.Target, logger *slog.Logger) (*Attachment, error) {
	a := &Attachment{}
	for _, group := range groups(p.All) {
		if err := a.attach(group, target, logger); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	return a, nil
}

// Close removes the events. The perf session that has them open must be closed
// before.
func (a *Attachment) Close() error {
	var errs []error
	for _, attached := range a.attached {
		errs = append(errs, attached.Close())
	}
	return errors.Join(errs...)
}

// group is functions that share an event.
type group struct {
	Event
	sites []uprobe.Site
	of    []*Function // of the sites
}

// groups puts probes into as few events as tell the functions apart: those that
// end calls first, so that none of them is missed whose begin is seen.
func groups(all []Probe) []*group {
	var out []*group
	for _, role := range []Role{EndsThrough, Ends, Begins, Gives} {
		first := len(out)
	probes:
		for i := range all {
			p := &all[i]
			if !p.has(role) {
				continue
			}
			for _, g := range out[first:] {
				if g.add(p) {
					continue probes
				}
			}
			g := &group{Event: Event{Role: role, AtEntry: true}}
			g.add(p)
			out = append(out, g)
		}
	}
	return out
}

// has tells whether a function has events of a role.
func (f *Function) has(role Role) bool {
	switch role {
	case Ends:
		return f.Returns() && f.Through == 0
	case EndsThrough:
		return f.Through != 0
	case Begins:
		return f.Returns()
	}
	return !f.Returns()
}

// add adds a function, unless another's address could be taken for its own.
func (g *group) add(p *Probe) bool {
	ends := g.Role == Ends || g.Role == EndsThrough
	if !g.Place(p.Entry.Offset, p.Function) && !ends {
		return false
	}
	site := p.Entry
	site.Return = ends
	site.Event = fmt.Sprintf("%s_%d", g.Role.name(), len(g.sites))
	g.sites = append(g.sites, site)
	g.of = append(g.of, p.Function)
	g.AtEntry = g.AtEntry && site.Entry
	return true
}

// name is part of an event's.
func (r Role) name() string {
	return [...]string{Begins: "alloc", Ends: "allocated", EndsThrough: "allocated_through", Gives: "free"}[r]
}

// attach makes a group's event, or events where the kernel has no events of many
// places.
func (a *Attachment) attach(g *group, target perfevent.Target, logger *slog.Logger) error {
	plan := &uprobe.Plan{Path: g.sites[0].KernelPath, Sites: g.sites}
	attached, err := uprobe.Attach(plan, uprobe.AttachOptions{Target: target, Merge: true, Logger: logger})
	if err != nil {
		return fmt.Errorf("probe the allocator: %w", err)
	}
	a.attached = append(a.attached, attached)
	for i, event := range attached.Events {
		e := g.Event
		e.Event = event
		if len(attached.Events) == len(g.sites) {
			for place := range e.functions {
				e.functions[place] = g.of[i]
			}
		}
		a.Events = append(a.Events, &e)
	}
	return nil
}
