package check

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// An Env answers the checker's questions about the host. Resolve, Complete and Constant are as in
// ctypes.Scope.
type Env interface {
	// Args returns the arguments of an attach point as a struct. Its error says why they are not
	// known.
	Args(p *syntax.AttachPoint) (*types.Type, error)
	// Result returns the type of retval at an attach point. It returns nil if nothing more is known
	// than that it is an integer.
	Result(p *syntax.AttachPoint) (*types.Type, error)
	// Resolve returns the type that t names. t is no tuple and no typeof.
	Resolve(t *syntax.TypeExpr) (*types.Type, error)
	// Complete returns a struct with its members, which the type of a pointer may lack. It returns
	// any other type unchanged.
	Complete(t *types.Type) *types.Type
	// Constant returns the value and the type of an enum constant.
	Constant(name string) (value int64, t *types.Type, ok bool)
	// Symbol returns the address and the size of a kernel symbol. If p is not nil, the symbol is in
	// the object of p.
	Symbol(name string, p *syntax.AttachPoint) (address uint64, size int, err error)
	// Register reports whether this machine has a register called name.
	Register(name string) bool
	// Cgroup returns the id of the cgroup at path.
	Cgroup(path string) (uint64, error)
}

// Options configure Check.
type Options struct {
	Dialect Dialect
	Unsafe  bool              // allow system, signal and the like
	Params  []string          // positional parameters
	Named   map[string]string // the program's own options, for getopt; "" for --name without a value
	Child   bool              // there is a child process (-c)
	Nested  bool              // process ids in hits are not the host's: ringtap runs in a container
	CPUs    int               // for ncpus
	Missing string            // default of the setting missing_probes: error, warn or ignore; "" for warn
	// DebugInfo is the default of the setting show_debug_info.
	DebugInfo bool
	Env       Env
	Untyped   func() bool // reports whether the kernel lacks type information; nil if it has it
	// LeftOut are probes that were removed from the program because this host has nothing to attach
	// them to.
	LeftOut []*syntax.Probe
}

// maxPasses bounds the passes of type inference. Each pass widens at least one type, and there are
// few widths.
const maxPasses = 64

// maxErrors bounds the list of errors.
const maxErrors = 50

type checker struct {
	opts Options
	prog *Program
	errs []*syntax.Error
	seen map[string]bool // messages with their positions, to report each once

	final   bool // this is the last pass: types are known, so report errors
	changed bool // this pass widened a type

	maps      map[string]*Map
	mapList   []*Map
	vars      map[syntax.Node]*variable
	hoisted   map[hoist]bool
	functions map[string]*Function

	probe    *syntax.Probe // nil in a function
	clause   *Clause
	function *Function
	scopes   []map[string]*variable
	frame    *[]*Var
	loops    int
	depth    int
	size     int // number of expressions in this pass
}

// Check infers the types of a program. If the program is wrong, the error is a *syntax.Errors.
func Check(p *syntax.Program, opts Options) (*Program, error) {
	c := &checker{
		opts: opts, maps: map[string]*Map{}, vars: map[syntax.Node]*variable{}, hoisted: map[hoist]bool{},
		seen: map[string]bool{}, prog: &Program{Config: defaults()},
	}
	c.final = true
	c.prog.Config.MissingProbes = cmp.Or(opts.Missing, c.prog.Config.MissingProbes)
	c.prog.Config.ShowDebugInfo = opts.DebugInfo
	c.config(p.Config)
	q := c.expandMacros(p)
	c.declareMaps(p.Maps)
	if len(c.errs) == 0 {
		c.infer(q)
	}
	if len(c.errs) > 0 {
		slices.SortStableFunc(c.errs, func(a, b *syntax.Error) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
		})
		return nil, &syntax.Errors{List: c.errs, Sources: p.Sources}
	}
	c.prog.markProgramText()
	return c.prog, nil
}

// infer walks the program until no type changes, and then once more for the result.
func (c *checker) infer(p *syntax.Program) {
	c.final = false
	for range maxPasses {
		c.changed = false
		c.pass(p)
		if !c.changed {
			break
		}
	}
	c.final = true
	c.prog.Warnings = nil
	c.pass(p)
	for _, m := range c.mapList {
		m.Value = settle(m.value)
		m.Spec.Keys = parts(m)
		if m.idle {
			c.warnf(m.use, "Unused map: %s", m.Name)
		}
		if known(m.value) || m.idle || len(c.errs) > 0 {
			continue
		}
		c.unassigned(m)
	}
	c.prog.Maps = c.mapList
}

// unassigned reports a map that nothing assigns a value to, or only probes that this host lacks.
func (c *checker) unassigned(m *Map) {
	uses := regexp.MustCompile(regexp.QuoteMeta(m.Name) + `(\W|$)`)
	var gone []string
	var at syntax.Pos
	for _, probe := range c.opts.LeftOut {
		if !uses.MatchString((&syntax.Program{Probes: []*syntax.Probe{probe}}).String()) {
			continue
		}
		for _, p := range probe.Points {
			gone = append(gone, p.Text)
		}
		at = cmp.Or(at, probe.Pos)
	}
	if len(gone) > 0 {
		c.hintf(at, "a module of the kernel that is not loaded may have them",
			"this kernel has none of %s, and nothing else says what %s holds", strings.Join(gone, ", "), m.Name)
		return
	}
	var others []string
	for _, other := range c.mapList {
		if known(other.value) {
			others = append(others, other.Name)
		}
	}
	c.hintf(m.use, cmp.Or(nearest(m.Name, others), "assign "+m.Name+" a value somewhere"), "no statement says what %s holds", m.Name)
}

// parts returns the types of the parts of a map's key.
func parts(m *Map) []*types.Type {
	if !m.keyed || !known(m.key) {
		return nil
	}
	key := settle(m.key)
	if key.Kind != types.Tuple {
		return []*types.Type{key}
	}
	var list []*types.Type
	for _, f := range key.Fields {
		list = append(list, f.Type)
	}
	return list
}

func (c *checker) pass(p *syntax.Program) {
	c.prog.Clauses, c.prog.Functions, c.prog.Options = nil, nil, nil
	c.size = 0
	c.functions = map[string]*Function{}
	for _, f := range p.Functions {
		c.declareFunction(f)
	}
	for _, f := range p.Functions {
		c.checkFunction(f)
	}
	for _, probe := range p.Probes {
		c.checkProbe(probe)
	}
}

func (c *checker) checkProbe(p *syntax.Probe) {
	c.probe, c.function = p, nil
	c.clause = &Clause{Pos: p.Pos, Points: p.Points}
	c.frame = &c.clause.Vars
	c.scopes, c.loops = nil, 0
	c.push()
	if p.Predicate != nil {
		x := c.expr(p.Predicate)
		_, ahead := p.Predicate.(*syntax.Comptime)
		if k, ok := constant(x); ahead && ok && !truth(k) {
			c.pop()
			return // this run does not include the clause
		}
		c.clause.Predicate = c.condition(x)
	}
	c.clause.Body = c.block(p.Body)
	c.pop()
	if c.final && len(c.errs) == 0 {
		c.unfold(c.clause.Body, c.clause.Predicate)
		c.clause.prune()
	}
	c.prog.Clauses = append(c.prog.Clauses, c.clause)
}

func (c *checker) declareFunction(f *syntax.Function) {
	if c.functions[f.Name] != nil {
		c.errorf(f.Pos, "function %s is defined twice", f.Name)
		return
	}
	if lookup(f.Name) != nil {
		c.errorf(f.Pos, "%s is a function of the language", f.Name)
	}
	out := &Function{Pos: f.Pos, name: f.Name, result: types.Void}
	if f.Result != nil && !(f.Result.Base == "void" && len(f.Result.Modifiers) == 0) {
		out.result = c.typeExpr(f.Result)
	}
	for _, p := range f.Params {
		out.params = append(out.params, &Var{Name: p.Name, Type: c.typeExpr(p.Type), Slot: len(out.params), sized: true})
	}
	c.functions[f.Name] = out
	c.prog.Functions = append(c.prog.Functions, out)
}

func (c *checker) checkFunction(f *syntax.Function) {
	out := c.functions[f.Name]
	if out == nil || out.Body != nil {
		return
	}
	c.probe, c.clause, c.function = nil, nil, out
	c.scopes, c.loops = nil, 0
	c.frame = &out.Vars
	c.push()
	for _, p := range out.params {
		out.Vars = append(out.Vars, p)
		c.scopes[0][p.Name] = &variable{Var: p, typ: p.Type, sets: 2}
	}
	out.Body = c.block(f.Body)
	c.pop()
	if c.final && len(c.errs) == 0 {
		c.unfold(out.Body, nil)
	}
}

// errorf reports an error in the last pass.
func (c *checker) errorf(pos syntax.Pos, format string, args ...any) {
	c.hintf(pos, "", format, args...)
}

// hosts reports an error of the host, which may have a position and a hint of its own.
func (c *checker) hosts(pos syntax.Pos, subject string, err error) {
	var e *syntax.Error
	if errors.As(err, &e) {
		c.hintf(e.Pos, e.Hint, "%s", e.Msg)
		return
	}
	c.errorf(pos, "%s: %v", subject, err)
}

// hintf reports an error in the last pass, with a hint at what would work instead.
func (c *checker) hintf(pos syntax.Pos, hint, format string, args ...any) {
	c.add(&syntax.Error{Pos: pos, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

// add adds an error in the last pass, unless it is there already.
func (c *checker) add(e *syntax.Error) {
	if !c.final || len(c.errs) == maxErrors {
		return
	}
	if key := e.Error(); !c.seen[key] {
		c.seen[key] = true
		c.errs = append(c.errs, e)
	}
}

// warnf reports what is legal but may surprise, in the last pass.
func (c *checker) warnf(pos syntax.Pos, format string, args ...any) {
	if c.final && len(c.prog.Warnings) < maxErrors {
		c.prog.Warnings = append(c.prog.Warnings, &syntax.Error{Pos: pos, Msg: fmt.Sprintf(format, args...)})
	}
}

var errNoEnv = errors.New("no kernel is asked")

// env returns the host, or one that knows nothing if there is none.
func (c *checker) env() Env {
	if c.opts.Env != nil {
		return c.opts.Env
	}
	return unknownHost{}
}

type unknownHost struct{}

func (unknownHost) Args(*syntax.AttachPoint) (*types.Type, error)   { return nil, errNoEnv }
func (unknownHost) Result(*syntax.AttachPoint) (*types.Type, error) { return nil, nil }
func (unknownHost) Resolve(*syntax.TypeExpr) (*types.Type, error)   { return nil, errNoEnv }
func (unknownHost) Complete(t *types.Type) *types.Type              { return t }
func (unknownHost) Constant(string) (int64, *types.Type, bool)      { return 0, nil, false }
func (unknownHost) Symbol(string, *syntax.AttachPoint) (uint64, int, error) {
	return 0, 0, errNoEnv
}
func (unknownHost) Register(string) bool          { return true }
func (unknownHost) Cgroup(string) (uint64, error) { return 0, errNoEnv }

// newMap adds a map that the program has not used before.
func (c *checker) newMap(pos syntax.Pos, name string) *Map {
	m := &Map{Spec: value.Spec{Name: name}, Index: len(c.mapList), key: pending, value: pending, use: pos}
	c.maps[name] = m
	c.mapList = append(c.mapList, m)
	c.changed = true
	return m
}
