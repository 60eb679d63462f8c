package uprobe

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/symbols"
)

const defaultSites = 1000

// Options say in which process's view a target is found, and how sites are chosen.
type Options struct {
	PID int // find the target as this process does, with its root and mapped libraries; 0: as ringtap does
	// Exact leaves entry probes on the function's first instruction. It also accepts an offset
	// if it is unknown whether an instruction starts there.
	Exact bool
	// Returning leaves out inlined copies of functions, whose returns cannot be probed.
	Returning bool
	// OwnCode skips the search for inlined copies, which reads all debug information.
	OwnCode  bool
	MaxSites int          // maximum number of sites for a definition; 0 means 1000
	Logger   *slog.Logger // may be nil
}

// Resolve finds the instructions that a definition means. It only reads files, and needs no
// other privileges. The caller must close the plan.
//
// If the target is not found, the error is one of package library's. Otherwise it is a
// *TargetError, *SymbolError, *MarkError, *PlaceError, *TooManyError or *symbols.NoCodeError.
// For an argument or a malformed pattern it is a *ftrace.SyntaxError that points at it.
func Resolve(d *Definition, o Options) (*Plan, error) {
	t, err := openTarget(d.Target, o.PID)
	if err != nil {
		return nil, err
	}
	if o.MaxSites == 0 {
		o.MaxSites = defaultSites
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &resolver{target: t, definition: d, options: o}
	r.plan = &Plan{Definition: d, Path: t.Path, target: t}
	if err := r.resolve(); err != nil {
		t.close()
		return nil, err
	}
	return r.plan, nil
}

type resolver struct {
	*target
	definition *Definition
	options    Options
	plan       *Plan
}

func (r *resolver) resolve() error {
	var err error
	switch r.definition.Place {
	case PlaceFunction:
		err = r.functions()
	case PlaceOffset:
		err = r.offset()
	case PlaceLine:
		err = r.lines()
	case PlaceMark:
		err = r.marks()
	}
	if err == nil {
		err = r.limit(len(r.plan.Sites))
	}
	if err != nil {
		return err
	}
	names := make(map[string]bool, len(r.plan.Sites))
	for i := range r.plan.Sites {
		site := &r.plan.Sites[i]
		site.Event = ftrace.FreeEventName(site.Event, names)
	}
	return nil
}

func (r *resolver) limit(n int) error {
	if n > r.options.MaxSites {
		return &TooManyError{Definition: r.definition.Text, Count: n, Max: r.options.MaxSites}
	}
	return nil
}

// note adds a note unless the plan already has it.
func (r *resolver) note(format string, args ...any) {
	if text := escape.Text(fmt.Sprintf(format, args...)); !slices.Contains(r.plan.Notes, text) {
		r.plan.Notes = append(r.plan.Notes, text)
	}
}

// Functions returns the functions of a target that can be probed or explained, and the path of
// the target. Order and names are those of symbols.File.Functions. If names are given, it
// returns only the functions with these names, which is faster. Errors are as for Resolve.
func Functions(target string, o Options, named ...string) (functions []symbols.Function, path string, err error) {
	t, err := openTarget(target, o.PID)
	if err != nil {
		return nil, "", err
	}
	defer t.close()
	if len(named) > 0 {
		functions, err = t.symbols.Named(named...)
	} else {
		functions, err = t.symbols.Functions()
	}
	if err != nil && len(functions) == 0 {
		return nil, t.Path, &TargetError{Path: t.Path, Err: err}
	}
	if err != nil && o.Logger != nil {
		o.Logger.Warn("some symbols can't be read", "file", t.Path, "error", err)
	}
	return functions, t.Path, nil
}

// AllParams returns the parameters of each function by the target's debug information, or nil
// for a function that is not described: see symbols.File.Params. Errors are as for Resolve.
func AllParams(target string, o Options, functions []symbols.Function) ([][]symbols.Param, error) {
	t, err := openTarget(target, o.PID)
	if err != nil {
		return nil, err
	}
	defer t.close()
	all := make([][]symbols.Param, len(functions))
	for i, f := range functions {
		all[i], _ = t.symbols.Params(f.Offset)
	}
	return all, nil
}

// Params returns the parameters of a target's function by its debug information, as
// symbols.File.TypedParams does. function is a name as in a definition. If several functions
// have that name (overloads), it is an error if their parameters differ. Other errors are as
// for Resolve. goCode says that it is a Go function, where $argN is Go's Nth register.
func Params(target string, o Options, function string) (params []symbols.Param, goCode bool, err error) {
	t, err := openTarget(target, o.PID)
	if err != nil {
		return nil, false, err
	}
	defer t.close()
	functions, err := t.symbols.Find(function)
	var first string
	for _, f := range functions {
		if f.Kind != symbols.Defined {
			continue
		}
		found, err := t.symbols.TypedParams(f.Offset)
		if err != nil {
			return nil, false, err
		}
		name := symbols.DemangleParams(f.Name)
		if first != "" && !sameParams(params, found) {
			return nil, false, &TargetError{Path: t.Path, Err: fmt.Errorf("several functions are called %s, with different arguments: name one of them, such as %s or %s", function, first, name)}
		}
		params, goCode, first = found, t.isGo(f.Offset), name
	}
	if first != "" {
		return params, goCode, nil
	}
	if err != nil {
		return nil, false, &TargetError{Path: t.Path, Err: err}
	}
	return nil, false, &SymbolError{Name: function, Path: t.Path}
}

// sameParams reports whether two lists of parameters have the same names, types and locations.
func sameParams(a, b []symbols.Param) bool {
	return slices.EqualFunc(a, b, func(x, y symbols.Param) bool {
		return x.Name == y.Name && x.Type == y.Type && x.Location == y.Location
	})
}

// FindType finds a type in a target's debug information. It first searches the compilation unit
// of function, which may be "": see symbols.File.FindType.
func FindType(target string, o Options, function, name string) (*symbols.Type, bool) {
	t, err := openTarget(target, o.PID)
	if err != nil {
		return nil, false
	}
	defer t.close()
	var offset uint64
	if functions, _ := t.symbols.Find(function); len(functions) > 0 {
		offset = functions[0].Offset
	}
	return t.symbols.FindType(offset, name)
}
