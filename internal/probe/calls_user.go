package probe

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// userCalls attaches to the entries and the returns of user functions. Functions with the same
// name in several files count as one.
func (s *Set) userCalls(spec *Spec) error {
	d, err := uprobe.Parse("p:" + spec.Probe)
	if err != nil {
		return err
	}
	if err := s.eachFile(d, func(pid int) error { return s.userCallsOf(spec, d, pid) }); err != nil {
		return err
	}
	s.noteUntimed()
	return nil
}

// userCallsOf does that for the file as seen by process pid.
func (s *Set) userCallsOf(spec *Spec, d *uprobe.Definition, pid int) error {
	entry, err := s.resolveUser(d, pid, s.options.Limit)
	if err != nil {
		return err
	}
	leave, err := s.userReturns(spec, pid)
	if err != nil {
		return err
	}
	returns := make(map[string]bool)
	goCode := make(map[string]bool)
	for i := range leave.Sites {
		site := &leave.Sites[i]
		returns[site.Symbol] = true
		s.number(site.Symbol)
		if site.Go {
			site.Args = goroutineStack()
			goCode[site.Symbol] = true
		}
	}
	begin, hits := *entry, *entry
	begin.Sites, hits.Sites = nil, nil
	for _, site := range entry.Sites {
		if site.Inlined {
			hits.Sites = append(hits.Sites, site)
			s.note("calls of %s that were inlined are counted without their time", symbols.Demangle(site.Symbol))
			continue
		}
		if goCode[site.Symbol] {
			site.Args = goroutineStack()
		}
		if returns[site.Symbol] {
			begin.Sites = append(begin.Sites, site)
			continue
		}
		hits.Sites = append(hits.Sites, site)
		s.untimed = append(s.untimed, site.Symbol)
	}
	if s.options.Calls == TimedCalls {
		if len(begin.Sites) == 0 {
			return fmt.Errorf("%s: %w", spec.Probe, ErrNoReturns)
		}
		hits.Sites = nil
	}
	sharePlaces(begin.Sites, leave.Sites)
	s.AtEntry = (len(s.Sources) == 0 || s.AtEntry) && begin.AtEntry() && hits.AtEntry()
	share := len(s.Functions) <= 1 || s.options.Calls == AllCalls && len(entry.Sites) > manyPlaces
	for _, part := range []struct {
		plan *uprobe.Plan
		role Role
	}{{&begin, Enter}, {leave, Return}, {&hits, Hit}} {
		added, err := s.attachUser(part.plan, share)
		if err != nil {
			return err
		}
		for i := range added {
			source := &added[i]
			source.Role = part.role
			if end := source.Format.Field(goroutineStackEnd); end != nil {
				source.Site.StackEnd = end.Uint
			}
			if !share && part.role != Hit {
				source.Function = s.number(part.plan.Sites[i].Symbol)
			}
			source.Site.Return = part.role == Return && source.Format.Field(returnAddress) != nil
		}
	}
	return nil
}

// returnsPerFunction multiplies the limit on places for returns: a function may have that many
// return instructions on average.
const returnsPerFunction = 20

// userReturns finds the returns of functions. With AllCalls it leaves out functions whose
// returns can't be probed safely; their calls are only counted.
func (s *Set) userReturns(spec *Spec, pid int) (*uprobe.Plan, error) {
	d, err := uprobe.Parse("r:" + spec.Probe)
	if err != nil {
		return nil, err
	}
	notes := slices.Clone(s.Notes)
	leave, err := s.resolveUser(d, pid, s.options.Limit*returnsPerFunction)
	all := s.options.Calls == AllCalls
	if all {
		s.Notes = notes // most notes repeat those of the entries
	}
	var place *uprobe.PlaceError
	if all && errors.As(err, &place) {
		s.why = place.Err.Error()
		return &uprobe.Plan{}, nil
	}
	if all && errors.Is(err, uprobe.ErrInlined) {
		return &uprobe.Plan{}, nil
	}
	if err != nil {
		return nil, err
	}
	if all {
		leave.Sites = slices.DeleteFunc(leave.Sites, func(s uprobe.Site) bool { return s.Return && s.Unwound })
	}
	return leave, nil
}

// returnAddress is a field that only return probes have.
const returnAddress = "__probe_ret_ip"

// sharePlaces puts the kernel's return probes on the same instructions as the entry probes, so
// that a call traps there only once. On amd64 that is the place to which the entry probe may
// have been moved: the return address is still on top of the stack there. On arm64 the return
// address is in a register, which the function may have signed by then (paciasp). So there the
// entry probe goes back to the first instruction.
func sharePlaces(entry, leave []uprobe.Site) {
	for i := range leave {
		for j := range entry {
			if !leave[i].Return || entry[j].Symbol != leave[i].Symbol || entry[j].Offset-entry[j].Moved != leave[i].Offset {
				continue
			}
			if arch.Here == arch.AMD64 && entry[j].Entry {
				leave[i].Offset = entry[j].Offset
			} else {
				entry[j].Offset, entry[j].Moved = leave[i].Offset, 0
			}
			break
		}
	}
}

// goroutineStackEnd is the name of the field with the upper end of the goroutine's stack.
const goroutineStackEnd = "stack_hi"

// goroutineStack fetches the upper end of the goroutine's stack: g.stack.hi, the second word of
// g since Go 1.4 (runtime/runtime2.go: "offset known to the linker").
func goroutineStack() []ftrace.FetchArg {
	return []ftrace.FetchArg{{Name: goroutineStackEnd, Fetch: "+8(%" + arch.Here.Goroutine.Name + ")", Type: "u64"}}
}
