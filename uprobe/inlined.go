package uprobe

import (
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/symbols"
)

// inlined returns the inlined copies of a named function. found are the functions of that name
// with their own code; failed is the error if there are none. Searching for copies reads all
// debug information. So it is done only if no function was found, or if a found one is marked
// as inlined elsewhere. In a Go program, the inline tables of all functions are read first, for
// every name.
func (r *resolver) inlined(found []symbols.Function, failed error) ([]symbols.Place, error) {
	d := r.definition
	missing := errors.As(failed, new(*SymbolError))
	if r.options.OwnCode {
		return nil, nil
	}
	if d.Pattern {
		r.explainCopies(found)
		return nil, nil
	}
	if failed != nil && !missing {
		return nil, nil
	}
	if callers := r.symbols.GoCallers(plain(d.Symbol)); len(callers) > 0 {
		return nil, r.inlinedGo(missing, callers)
	}
	also := false
	for i := range found {
		also = also || found[i].Kind == symbols.Defined && r.symbols.IsInlined(found[i].Offset)
	}
	if !missing && !also {
		return nil, nil
	}
	copies, err := r.symbols.Inlined(plain(d.Symbol))
	if err != nil || len(copies) == 0 {
		return nil, nil // the error about the missing function is enough
	}
	name := d.Symbol
	switch {
	case missing && (d.Kind == Return || r.options.Returning):
		return nil, &TargetError{Path: r.Path, Err: fmt.Errorf("%s %w (%d places), so it has no returns that could be probed: count its calls, p:%s:%s", name, ErrInlined, len(copies), d.Target, name)}
	case missing && d.Offset > 0:
		return nil, &TargetError{Path: r.Path, Err: fmt.Errorf("%s %w (%d places): it has no code of its own to count +%#x from", name, ErrInlined, len(copies), d.Offset)}
	case d.Kind == Return || d.Offset > 0 || r.options.Returning:
		r.note("%s was inlined at %d places as well, which are not probed", name, len(copies))
		return nil, nil
	case missing && len(copies) == 1:
		r.note("%s was inlined at the one place where it is called, which is probed", name)
	case missing:
		r.note("%s was inlined wherever it is called: all %d places are probed", name, len(copies))
	default:
		r.note("%s was inlined at %d places, which are probed as well", name, len(copies))
	}
	return copies, r.limit(len(copies) + len(found))
}

// inlinedGo returns an error if Go's compiler inlined all calls of a function (missing). If the
// function also has its own code, inlinedGo adds a note about the calls that a probe misses.
func (r *resolver) inlinedGo(missing bool, callers []string) error {
	const cure = "build it with //go:noinline before the function, or all with -gcflags=-l"
	name := r.definition.Symbol
	if !missing {
		r.note("%s was inlined into %s as well: these calls are not probed; to see all of them, %s", name, several(callers), cure)
		return nil
	}
	return &TargetError{Path: r.Path, Err: fmt.Errorf("%s %w (into %s), and Go's compiler leaves no instruction there that runs once for each call: %s, or probe a caller",
		name, ErrInlined, several(callers), cure)}
}

// maxExplained is the number of functions for which explainCopies reads the debug information.
const maxExplained = 100

// explainCopies adds a note about matches of a pattern that were also inlined. A pattern
// matches only functions with their own code.
func (r *resolver) explainCopies(found []symbols.Function) {
	var names []string
	for i := range found[:min(len(found), maxExplained)] {
		if found[i].Kind == symbols.Defined && r.symbols.IsInlined(found[i].Offset) {
			names = append(names, symbols.Demangle(found[i].Name))
		}
	}
	if len(names) > 0 {
		r.note("inlined in places as well, which a pattern does not mean: %s; name one function to probe its inlined copies too", several(names))
	}
}

// copies adds the sites of a function's inlined copies.
func (r *resolver) copies(places []symbols.Place) error {
	var refused []string
	for _, place := range places {
		err := r.within(place, Site{Event: ftrace.EventIdentifier(r.definition.Symbol), Inlined: true})
		var placed *PlaceError
		if errors.As(err, &placed) {
			refused = append(refused, fmt.Sprintf("at file offset %#x (%v)", place.Offset, placed.Err))
			continue
		}
		if err != nil {
			return err
		}
	}
	if len(refused) > 0 {
		r.note("not probed, because they cannot be: copies %s", several(refused))
	}
	return nil
}
