package uprobe

import (
	"fmt"
	"path/filepath"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/symbols"
)

// lines resolves file.c:42.
func (r *resolver) lines() error {
	d := r.definition
	places, err := r.symbols.Places(d.File, d.Line)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Path, err)
	}
	if err := r.limit(len(places)); err != nil {
		return err
	}
	for _, place := range places {
		event := ftrace.EventIdentifier(fmt.Sprintf("%s_L%d", symbols.Demangle(place.Function), place.Line))
		if err := r.within(place, Site{Event: event}); err != nil {
			return err
		}
	}
	if len(places) > 1 {
		r.note("%s:%d is code at %d places, all of which are probed", filepath.Base(d.File), d.Line, len(places))
	}
	return nil
}

// within adds a site at an instruction inside a function.
func (r *resolver) within(place symbols.Place, site Site) error {
	site.Offset, site.Symbol = place.Offset, place.Function
	function := place.Offset
	if fn, ok := r.holding(place.Offset); ok {
		function = fn.Offset
		code, err := r.code(fn.Offset, fn.Size)
		if err != nil {
			return err
		}
		if err := probeable(code, place.Offset-fn.Offset); err != nil {
			return &PlaceError{Path: r.Path, Offset: place.Offset, Err: err}
		}
		skip, _ := code.Entry()
		site.Entry = place.Offset-fn.Offset <= uint64(skip)
	}
	var err error
	if site.Args, err = r.args(function, place.Offset, site.Entry); err != nil {
		return err
	}
	r.add(site)
	return nil
}
