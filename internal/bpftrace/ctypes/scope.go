package ctypes

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/text/match"
)

// Kernel provides the types of the running kernel.
type Kernel interface {
	// Type returns the type called name ("struct path", "enum x", "pid_t") and its alignment in
	// bytes.
	Type(name string) (t *types.Type, align int, ok bool)

	// Complete returns a struct without fields with its fields. It returns false if t is not a
	// kernel struct.
	Complete(t *types.Type) (*types.Type, bool)

	// Constant returns an enum constant.
	Constant(name string) (value int64, t *types.Type, ok bool)
}

// Scope contains the types that a program can name.
type Scope struct {
	kernel    Kernel // nil if its types are not known
	arm64     bool
	structs   map[string]*syntax.StructDef
	typedefs  map[string]*syntax.TypedefDef
	enums     map[string]ctype
	constants map[string]constant
	done      map[string]ctype       // structs and unions, and typedefs that have been resolved
	open      map[string]*types.Type // structs of the program, with fields once they are laid out
}

type constant struct {
	value int64
	t     *types.Type
}

// New returns the types of a program. kernel may be nil. If definitions in the program are wrong,
// the error is a *syntax.Errors.
func New(p *syntax.Program, kernel Kernel) (*Scope, error) {
	return newScope(p, kernel, runtime.GOARCH)
}

func newScope(p *syntax.Program, kernel Kernel, arch string) (*Scope, error) {
	s := &Scope{
		kernel: kernel, arm64: arch == "arm64",
		structs: map[string]*syntax.StructDef{}, typedefs: map[string]*syntax.TypedefDef{},
		enums: map[string]ctype{}, constants: map[string]constant{},
		done: map[string]ctype{}, open: map[string]*types.Type{},
	}
	var list []*syntax.Error
	for _, d := range p.Definitions {
		if err := s.declare(d); err != nil {
			list = append(list, err)
		}
	}
	for _, d := range p.Definitions {
		if err := s.define(d); err != nil {
			list = append(list, err)
		}
	}
	if len(list) > 0 {
		return nil, &syntax.Errors{List: list, Sources: p.Sources}
	}
	return s, nil
}

// declare registers the name of a definition.
func (s *Scope) declare(d syntax.Definition) *syntax.Error {
	switch d := d.(type) {
	case *syntax.StructDef:
		if s.structs[d.Name] != nil {
			return errorf(d.Pos, "%s is defined twice", d.Name)
		}
		s.structs[d.Name] = d
	case *syntax.TypedefDef:
		if s.typedefs[d.Name] != nil {
			return errorf(d.Pos, "%s is defined twice", d.Name)
		}
		s.typedefs[d.Name] = d
	case *syntax.EnumDef:
		if _, ok := s.enums[d.Name]; ok {
			return errorf(d.Pos, "%s is defined twice", d.Name)
		}
		t := enumType(d)
		s.enums[d.Name] = t
		for _, v := range d.Values {
			s.constants[v.Name] = constant{v.Value, t.Type}
		}
	}
	return nil
}

// define computes the layout of a definition.
func (s *Scope) define(d syntax.Definition) *syntax.Error {
	switch d := d.(type) {
	case *syntax.StructDef:
		_, err := s.structure(d)
		return err
	case *syntax.TypedefDef:
		_, err := s.resolve(d.Type, 0)
		return err
	}
	return nil
}

// enumType returns the integer type that gcc uses for an enum.
func enumType(d *syntax.EnumDef) ctype {
	t := &types.Type{Kind: types.Int, Size: 4, Name: d.Name}
	for _, v := range d.Values {
		t.Signed = t.Signed || v.Value < 0
	}
	for _, v := range d.Values {
		if t.Signed && v.Value != int64(int32(v.Value)) || !t.Signed && v.Value != int64(uint32(v.Value)) {
			t.Size = 8
		}
	}
	return plain(t)
}

func errorf(pos syntax.Pos, format string, args ...any) *syntax.Error {
	return &syntax.Error{Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// Resolve returns the type that t names. It supports neither typeof nor tuples. The error is a
// *syntax.Error.
func (s *Scope) Resolve(t *syntax.TypeExpr) (*types.Type, error) {
	c, err := s.resolve(t, 0)
	if err != nil {
		return nil, err
	}
	return c.Type, nil
}

// maxDepth bounds typedefs of typedefs. maxSize bounds the size of a value in bytes.
const (
	maxDepth = 1000
	maxSize  = 1 << 32
)

func (s *Scope) resolve(t *syntax.TypeExpr, depth int) (ctype, *syntax.Error) {
	if depth > maxDepth {
		return ctype{}, errorf(t.Pos, "the typedef %s is too deep", t.Base)
	}
	if t.Base == "" {
		return ctype{}, errorf(t.Pos, "a type's name belongs here")
	}
	modifiers := t.Modifiers
	if s.points(t) { // to a struct that may be defined later, or never
		c := ctype{s.incomplete(t.Base), 1}
		return modify(t, c, modifiers)
	}
	base, err := s.base(t, depth)
	if err != nil {
		return ctype{}, err
	}
	switch base.Kind {
	case types.String, types.Buffer, types.Inet:
		if len(modifiers) > 0 && !modifiers[0].Pointer {
			sized := *base.Type
			sized.Size = max(modifiers[0].Len, 0)
			base.Type, modifiers = &sized, modifiers[1:]
		}
	}
	return modify(t, base, modifiers)
}

// points reports whether t is a pointer to a struct or union.
func (s *Scope) points(t *syntax.TypeExpr) bool {
	return isStruct(t.Base) && len(t.Modifiers) > 0 && t.Modifiers[0].Pointer
}

func isStruct(name string) bool {
	return strings.HasPrefix(name, "struct ") || strings.HasPrefix(name, "union ")
}

// incomplete returns the struct that a pointer points to. A struct of the program gets its fields
// later. A kernel struct has none (see Complete).
func (s *Scope) incomplete(name string) *types.Type {
	if d := s.structs[name]; d != nil {
		return s.shell(name)
	}
	t := &types.Type{Kind: types.Struct, Name: name}
	if s.kernel != nil {
		if known, _, ok := s.kernel.Type(name); ok {
			t.Size = known.Size
		}
	}
	return t
}

// shell returns the type of a program's struct, which structure fills in.
func (s *Scope) shell(name string) *types.Type {
	t := s.open[name]
	if t == nil {
		t = &types.Type{Kind: types.Struct, Name: name}
		s.open[name] = t
	}
	return t
}

// modify returns pointers to and arrays of base, as the modifiers say.
func modify(t *syntax.TypeExpr, base ctype, modifiers []syntax.Modifier) (ctype, *syntax.Error) {
	for _, m := range modifiers {
		switch {
		case m.Pointer:
			base = plain(&types.Type{Kind: types.Pointer, Size: 8, Elem: base.Type})
		case base.Kind == types.None:
			return ctype{}, errorf(t.Pos, "there are no arrays of void")
		default:
			n := max(m.Len, 0)
			if base.Size > 0 && n > maxSize/base.Size {
				return ctype{}, errorf(t.Pos, "this array is too large")
			}
			base.Type = &types.Type{Kind: types.Array, Size: n * base.Size, Elem: base.Type, Len: n}
		}
	}
	return base, nil
}

// base returns the type that t.Base names.
func (s *Scope) base(t *syntax.TypeExpr, depth int) (ctype, *syntax.Error) {
	if d := s.structs[t.Base]; d != nil {
		return s.structure(d)
	}
	if d := s.typedefs[t.Base]; d != nil {
		c, ok := s.done[t.Base]
		if ok {
			return c, nil
		}
		c, err := s.resolve(d.Type, depth+1)
		if err == nil {
			s.done[t.Base] = c
		}
		return c, err
	}
	if c, ok := s.enums[t.Base]; ok {
		return c, nil
	}
	if c, ok := named(t.Base); ok {
		return c, nil
	}
	if s.kernel != nil {
		if found, align, ok := s.kernel.Type(t.Base); ok {
			return ctype{found, align}, nil
		}
	}
	err := errorf(t.Pos, "there is no type %s", t.Base)
	err.Hint = s.nearest(t.Base)
	return ctype{}, err
}

// nearest returns a hint with a similar type name of the program or the language.
func (s *Scope) nearest(name string) string {
	near := match.NewNearest(name, 1+len(name)/4, 1, nil)
	for known := range s.structs {
		near.Add(known)
	}
	for known := range s.typedefs {
		near.Add(known)
	}
	for _, known := range []string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "string", "bool", "buffer"} {
		near.Add(known)
	}
	if found := near.Names(); len(found) > 0 {
		return "Did you mean " + found[0] + "?"
	}
	if s.kernel == nil {
		return "The kernel's types are not known here. Define the type in the program."
	}
	return ""
}

// Complete returns a struct with its fields, which the type of a pointer may lack. If the program
// defines the struct, it returns the program's definition, even if a kernel struct points to it. It
// returns other types unchanged.
func (s *Scope) Complete(t *types.Type) *types.Type {
	if t == nil || t.Kind != types.Struct || t.Fields != nil {
		return t
	}
	if s.structs[t.Name] != nil {
		if c, ok := s.done[t.Name]; ok {
			return c.Type
		}
		return t
	}
	if s.kernel != nil {
		if whole, ok := s.kernel.Complete(t); ok {
			return whole
		}
		if whole, _, ok := s.kernel.Type(t.Name); ok {
			return whole
		}
	}
	return t
}

// Constant returns an enum constant of the program or the kernel.
func (s *Scope) Constant(name string) (value int64, t *types.Type, ok bool) {
	if c, ok := s.constants[name]; ok {
		return c.value, c.t, true
	}
	if s.kernel != nil {
		return s.kernel.Constant(name)
	}
	return 0, nil, false
}
