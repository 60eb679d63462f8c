package allocator

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/uprobe"
)

// Source is a perf event with several places. Its Role says what its hits are:
//
//   - Enter: a call of a function that Returns. It has the wanted size and the caller's stack.
//   - Return: the return of such a call. It has the address.
//   - Hit: a call of a function that frees or unmaps.
type Source struct {
	probe.Source
	Through bool // of a Return: its functions are those with Function.Through
	// Large says that the hits of an Enter are mappings or, with Probes.Large, allocations of
	// largeSize bytes or more. Another source has the smaller ones. Large ones are few, but often
	// most of a program's memory.
	Large bool
	// AtEntry says that at every place, the function has not set up its frame yet.
	AtEntry bool
	// functions has the function at each address, by the lower bits of the address. Files are
	// mapped in whole pages, so that these bits are the same in each process.
	functions [pageBytes]*Function
}

// pageBytes is the smallest page.
const pageBytes = 4096

// Called returns the function that was hit at ip, or nil if there is none. It is not for Return
// sources: their hits are in the caller.
func (e *Source) Called(ip uint64) *Function { return e.functions[ip%pageBytes] }

// Written returns a mask of the registers that may have addresses: see Function.Written.
func (e *Source) Written() (mask uint64) {
	for _, f := range e.functions {
		if f != nil && f.Written > 0 {
			mask |= 1 << (f.Written - 1)
		}
	}
	return mask
}

// Place records that f is at offset in its file. It returns false if another function has the same
// lower bits.
func (e *Source) Place(offset uint64, f *Function) bool {
	place := &e.functions[offset%pageBytes]
	if *place != nil {
		return false
	}
	*place = f
	return true
}

// Attachment is a set of probes in the kernel.
type Attachment struct {
	Sources []*Source // sources of returns come first
	sets    []*probe.Set
}

// Attach creates the events of the probes. They trace nothing until a perf session opens them.
// Errors are those of uprobe.Attach.
func Attach(p *Probes, target perfevent.Target, logger *slog.Logger) (*Attachment, error) {
	a := &Attachment{}
	for _, group := range groups(p.All, p.Large) {
		if err := a.attach(group, target, logger); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	return a, nil
}

// Close removes the events. The perf session that uses them must be closed first.
func (a *Attachment) Close() error {
	var errs []error
	for _, set := range a.sets {
		errs = append(errs, set.Close())
	}
	return errors.Join(errs...)
}

// group is a set of functions that share an event.
type group struct {
	Source
	name  string // start of its events' names
	sized bool   // sites have the fields of sizeArgs
	sites []uprobe.Site
	of    []*Function // by index of sites
}

// groups puts probes into as few events as possible, so that an address still identifies its
// function. Events at returns come first, so that every call whose start is seen has its end seen
// too. sized says that allocations have the fields of sizeArgs.
func groups(all []Probe, sized bool) []*group {
	var out []*group
	for _, kind := range []struct {
		name    string
		role    probe.Role
		through bool
		maps    bool
	}{{"allocated_through", probe.Return, true, false}, {"allocated", probe.Return, false, false},
		{"map", probe.Enter, false, true}, {"alloc", probe.Enter, false, false}, {"free", probe.Hit, false, false}} {
		first := len(out)
	probes:
		for i := range all {
			p := &all[i]
			if p.Returns() == (kind.role == probe.Hit) || kind.role == probe.Return && kind.through != (p.Through != 0) ||
				kind.role == probe.Enter && kind.maps != p.maps() {
				continue
			}
			for _, g := range out[first:] {
				if g.add(p) {
					continue probes
				}
			}
			g := &group{name: kind.name, Source: Source{Source: probe.Source{Role: kind.role}, Through: kind.through, Large: kind.maps, AtEntry: true}}
			g.sized = sized && kind.role == probe.Enter && !kind.maps
			g.add(p)
			out = append(out, g)
		}
	}
	return out
}

// add adds a function and returns true, unless its address could be confused with another one's.
func (g *group) add(p *Probe) bool {
	ends := g.Role == probe.Return
	if !g.Place(p.entry.Offset, p.Function) && !ends {
		return false
	}
	site := p.entry
	site.Return = ends
	site.Event = fmt.Sprintf("%s_%d", g.name, len(g.sites))
	if g.sized {
		site.Args = sizeArgs(p.Function)
	}
	g.sites = append(g.sites, site)
	g.of = append(g.of, p.Function)
	g.AtEntry = g.AtEntry && site.Entry
	return true
}

// attach creates the event of a group, or several events if the kernel does not support events with
// many places.
func (a *Attachment) attach(g *group, target perfevent.Target, logger *slog.Logger) error {
	plan := &uprobe.Plan{Path: g.sites[0].KernelPath, Sites: g.sites}
	options := probe.Options{Target: target, Sharing: probe.ShareAll, Logger: logger}
	set, err := probe.OpenPlan(plan, options)
	if g.sized && err != nil && ftrace.IsUnavailable(err) { // perf's own probes fetch no fields
		for i := range plan.Sites {
			plan.Sites[i].Args = nil
		}
		set, err = probe.OpenPlan(plan, options)
	}
	if err != nil {
		return fmt.Errorf("probe the allocator: %w", err)
	}
	a.sets = append(a.sets, set)
	for i, attached := range set.Sources {
		source := g.Source
		attached.Role, attached.Site.Return = g.Role, g.Role == probe.Return
		source.Source = attached
		if len(set.Sources) == len(g.sites) {
			for place := range source.functions {
				source.functions[place] = g.of[i]
			}
		}
		if len(plan.Sites[0].Args) > 0 {
			large := source
			large.Large, large.Filter, source.Filter = true, largeFilter, smallFilter
			a.Sources = append(a.Sources, &large)
		}
		a.Sources = append(a.Sources, &source)
	}
	return nil
}

// largeSize is how many bytes make an allocation large. An object or a buffer of an interpreted program
// rarely has as many.
const largeSize = 64 << 10

// The filters of large allocations and of the others. The kernel does not multiply: an array is large if
// its length or the size of its elements is.
var (
	largeFilter = fmt.Sprintf("size >= %d || times >= %[1]d", largeSize)
	smallFilter = fmt.Sprintf("size < %d && times < %[1]d", largeSize)
)

// sizeArgs are the fields of an allocation for the filters. Places that share an event have the same fields.
func sizeArgs(f *Function) []ftrace.FetchArg {
	args := []ftrace.FetchArg{
		{Name: "size", Fetch: fmt.Sprint("$arg", f.Size), Type: "u64"},
		{Name: "times", Fetch: fmt.Sprint("$arg", cmp.Or(f.Times, f.Size)), Type: "u64"},
	}
	args, _, err := ftrace.UserArgs(args, runtime.GOARCH, false)
	if err != nil {
		return nil // this machine's registers are unknown
	}
	return args
}
