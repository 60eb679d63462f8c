package uprobe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe/placement"
)

// functions resolves SYMBOL, SYMBOL+OFF and patterns.
func (r *resolver) functions() error {
	d := r.definition
	found, err := r.find()
	if copies, inlinedErr := r.inlined(found, err); len(copies) > 0 || inlinedErr != nil {
		if inlinedErr != nil {
			return inlinedErr
		}
		if err := r.copies(copies); err != nil || len(found) == 0 {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := r.limit(len(found)); err != nil {
		return err
	}
	r.explain(found)
	if found, err = r.implementations(found); err != nil {
		return err
	}
	if err := r.limit(len(found)); err != nil {
		return err
	}
	var refused []string
	for i := range found {
		fn := &found[i]
		if err := r.function(fn); err != nil {
			var placed *PlaceError
			if len(found) == 1 || !errors.As(err, &placed) {
				return err
			}
			refused = append(refused, fmt.Sprintf("%s (%v)", symbols.Demangle(fn.Name), placed.Err))
		}
	}
	if len(refused) > 0 {
		if len(r.plan.Sites) == 0 {
			return &TargetError{Path: r.Path, Err: fmt.Errorf("none of the functions called %s can be probed: %s", d.Symbol, several(refused))}
		}
		r.note("not probed, because they cannot be: %s", several(refused))
	}
	return nil
}

// find returns the functions that a definition names, one for each offset.
func (r *resolver) find() ([]symbols.Function, error) {
	d := r.definition
	found, err := r.symbols.Find(plain(d.Symbol))
	imported := len(found) > 0 && found[0].Kind == symbols.Imported
	if d.Pattern && (len(found) == 0 || imported) {
		found, err = r.symbols.Match(d.Symbol)
		imported = false
	}
	if len(found) > 0 && !imported {
		return found, nil // errors of other tables do not matter
	}
	var malformed *match.GlobError
	switch {
	case errors.As(err, &malformed): // and it is no name, as operator[] would be
		start := strings.Index(d.Text, ":"+d.Symbol) + 1
		return nil, &ftrace.SyntaxError{Text: d.Text, Pos: start + malformed.Pos, Message: "invalid probe: " + malformed.Reason}
	case err != nil:
		return nil, &TargetError{Path: r.Path, Err: fmt.Errorf("read its symbols: %w", err)}
	}
	failed := &SymbolError{
		Name:     d.Symbol,
		Path:     r.Path,
		Imported: imported,
		Stripped: r.stripped(),
		Near:     r.symbols.Nearest(d.Symbol, 5),
	}
	if imported {
		failed.Library = r.exporter(d.Symbol)
	}
	return nil, failed
}

// exporter returns the path of the linked library that exports a function, or "".
func (r *resolver) exporter(name string) string {
	for _, soname := range r.needed() {
		found, err := library.Find(soname, library.Options{PID: r.options.PID, Machine: r.image.Machine})
		if err != nil {
			continue
		}
		if exports(found, name) {
			return found.Path
		}
	}
	return ""
}

// exports reports whether a library exports a function. It closes the library.
func exports(t *library.Target, name string) bool {
	defer t.File.Close()
	info, err := t.File.Stat()
	if err != nil {
		return false
	}
	f, err := symbols.Open(t.File, info.Size(), symbols.Options{})
	if err != nil {
		return false
	}
	defer f.Close()
	found, _ := f.Find(name)
	return len(found) > 0 && found[0].Kind != symbols.Imported
}

// explain adds notes about functions whose probes may surprise the user.
func (r *resolver) explain(found []symbols.Function) {
	var called []string
	for _, fn := range found {
		called = append(called, symbols.DemangleParams(fn.Name))
		switch fn.Kind {
		case symbols.Resolver:
			r.note("%s is the resolver of an indirect function (IFUNC): it runs once when a program starts, not at each call", fn.Name)
		case symbols.PLT:
			r.note("%s is the stub through which %s calls another library's function: calls from elsewhere bypass it", fn.Name, r.Path)
		}
	}
	if len(found) > 1 && !r.definition.Pattern {
		slices.Sort(called)
		r.note("%s has %d functions called %s; all are probed: %s", r.Path, len(found), r.definition.Symbol, several(slices.Compact(called)))
	}
}

func several(names []string) string {
	const few = 5
	if len(names) > few {
		return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
	}
	return strings.Join(names, ", ")
}

func (r *resolver) function(fn *symbols.Function) error {
	d := r.definition
	event := d.Symbol
	if d.Pattern {
		event = symbols.Demangle(fn.Name)
	}
	if d.Offset > 0 {
		event += fmt.Sprintf("_%#x", d.Offset)
	}
	event = ftrace.EventIdentifier(event)
	if d.Kind == Return {
		return r.returns(fn, event)
	}
	code, err := r.code(fn.Offset, fn.Size)
	if err != nil {
		return err
	}
	skip, why := code.Entry()
	site := Site{Offset: fn.Offset + d.Offset, Symbol: fn.Name, Event: event}
	site.Entry = d.Offset <= uint64(skip)
	if d.Offset == 0 && !r.options.Exact {
		site.Offset += uint64(skip)
		site.Moved, site.Why = uint64(skip), why
	}
	if err := probeable(code, site.Offset-fn.Offset); err != nil {
		return &PlaceError{Path: r.Path, Offset: site.Offset, Err: err}
	}
	if site.Args, err = r.args(fn.Offset, site.Offset, site.Entry); err != nil {
		return err
	}
	r.add(site)
	return nil
}

// returns adds the sites for a function's returns. The kernel's return probes replace the
// return address. That breaks Go's runtime when it copies or walks a stack, and programs that
// throw an exception through the function. There, each return instruction is probed instead.
func (r *resolver) returns(fn *symbols.Function, event string) error {
	args, err := r.args(fn.Offset, fn.Offset, true)
	if err != nil {
		return err
	}
	code, err := r.code(fn.Offset, fn.Size)
	if err != nil {
		return err
	}
	goCode := r.isGo(fn.Offset)
	var ends []uint64
	switch {
	case goCode:
		var returns []int
		returns, err = code.Returns()
		for _, end := range returns {
			ends = append(ends, fn.Offset+uint64(end))
		}
	default:
		first := fn.Offset
		if err = probeable(code, 0); err != nil {
			if skip, _ := code.Entry(); skip > 0 {
				first, err = first+uint64(skip), nil
			}
		}
		unwound := r.exceptions()
		if err == nil && unwound && len(args) == 0 {
			ends = r.ends(fn, code)
		}
		if err == nil && ends == nil {
			if unwound {
				r.note("an exception or panic that unwinds through %s while its return is probed ends the program", symbols.Demangle(fn.Name))
			}
			r.add(Site{Offset: first, Return: true, Symbol: fn.Name, Event: event, Args: args, Unwound: unwound})
			return nil
		}
	}
	if err != nil {
		return &PlaceError{Path: r.Path, Offset: fn.Offset, Err: err}
	}
	for _, end := range ends {
		r.add(Site{Offset: end, Symbol: fn.Name, Event: event, Args: args, Go: goCode})
	}
	return nil
}

func (r *resolver) add(s Site) {
	s.KernelPath = r.KernelPath
	if r.definition.Alias != "" {
		s.Event = r.definition.Alias
	}
	r.plan.Sites = append(r.plan.Sites, s)
}

func (r *resolver) code(offset, size uint64) (*placement.Function, error) {
	vaddr, _ := r.image.Vaddr(offset)
	text, err := r.symbols.Code(offset, size)
	if err != nil {
		return nil, &PlaceError{Path: r.Path, Offset: offset, Err: fmt.Errorf("read the function: %w", err)}
	}
	return &placement.Function{Machine: r.image.Machine, Code: text, Addr: vaddr}, nil
}

// probeable returns nil if a probe can be placed offset bytes into a function.
func probeable(f *placement.Function, offset uint64) error {
	if offset >= uint64(len(f.Code)) {
		return &placement.OutsideError{Offset: int(min(offset, 1<<31-1)), Size: len(f.Code)}
	}
	return f.Probeable(int(offset))
}
