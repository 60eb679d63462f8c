package kprobe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/text/cexpr"
	"github.com/ringtap/ringtap/internal/text/match"
)

func (e *evaluator) isParameter(name string) bool {
	return slices.ContainsFunc(e.params, func(p param) bool { return p.name == name })
}

// lookup finds the type of a cast. The keywords struct and union may be omitted, since spaces
// are awkward in definitions.
func (e *evaluator) lookup(written *cexpr.TypeName) (btf.Type, error) {
	kind, words := btf.Void, written.Words
	switch words[0] {
	case "struct":
		kind, words = btf.Struct, words[1:]
	case "union":
		kind, words = btf.Union, words[1:]
	case "enum":
		kind, words = btf.Enum, words[1:]
	default:
		if t, ok := cexpr.LookupBasic(words); ok {
			return e.integer(words, t)
		}
	}
	if len(words) != 1 {
		return btf.Type{}, fmt.Errorf("%s is no type", written)
	}
	name := words[0]
	kinds := []btf.Kind{kind}
	switch kind {
	case btf.Void:
		kinds = []btf.Kind{btf.Typedef, btf.Struct, btf.Union}
	case btf.Enum:
		kinds = []btf.Kind{btf.Enum, btf.Enum64}
	}
	for _, k := range kinds {
		if t, err := e.named(k, name); err != nil || t.Kind() != btf.Void {
			return t, err
		}
	}
	what := "type"
	if kind != btf.Void {
		what = kind.String()
	}
	near := newNearest(name)
	for _, spec := range e.specs {
		for t := range spec.Types() {
			if slices.Contains(kinds, t.Kind()) {
				near.add(t.Name())
			}
		}
	}
	if best := near.found.Names(); len(best) > 0 {
		return btf.Type{}, fmt.Errorf("the kernel has no %s %s; %s", what, name, match.DidYouMean(best))
	}
	return btf.Type{}, fmt.Errorf("the kernel has no %s %s", what, name)
}

// integer finds the kernel's type for the C integer type want.
func (e *evaluator) integer(words []string, want cexpr.Type) (btf.Type, error) {
	if words[0] == "void" {
		return btf.Type{}, nil
	}
	plain := words[0] == "char" && len(words) == 1
	for t := range e.specs[len(e.specs)-1].Types() {
		if t.Kind() != btf.Int {
			continue
		}
		n, _ := t.Size()
		if n == uint64(want.Size) && t.Bool() == want.Bool && (plain && t.Name() == "char" || !plain && t.Signed() == want.Signed && t.Name() != "char") {
			return t, nil
		}
	}
	return btf.Type{}, fmt.Errorf("the kernel's type information has no %s", strings.Join(words, " "))
}

// unsignedLong returns the type for a register whose type is unknown.
func (e *evaluator) unsignedLong() ctype {
	t, _ := e.integer([]string{"unsigned", "long"}, cexpr.ULong)
	return ctype{t: t}
}

// cast changes the type of a value if the kernel need not compute anything for it.
func (e *evaluator) cast(x *cexpr.Cast) (value, error) {
	named, err := e.lookup(&x.Type)
	if err != nil {
		return value{}, e.fail(x.Type.Pos(), "%v", err)
	}
	v, err := e.value(x.X)
	if err != nil {
		return v, err
	}
	t, pos := ctype{named, x.Type.Stars}, x.Pos()
	from, _ := v.typ.size()
	to, _ := t.size()
	array := v.typ.kind() == btf.Array
	switch {
	case t.isPointer() && array && v.kind == inMemory:
		v.kind = address
	case t.isPointer() && (v.typ.isPointer() || v.typ.isInteger() && from == 8) && v.width == 0:
	case t.isPointer():
		return v, e.fail(pos, "%s is %s, and no pointer can be made of that", v.name, v.typ)
	case !t.isInteger():
		return v, e.fail(pos, "a cast makes a pointer or an integer, no %s", t)
	case !v.typ.isPointer() && !v.typ.isInteger():
		return v, e.fail(pos, "%s is %s, and no integer can be made of that", v.name, v.typ)
	case v.width > 0 && uint64(v.width) < 8*to, to > from && !v.typ.signed():
		return v, nil // the same number
	case to > from && t.signed():
		return v, nil
	case to > from || v.width > 0:
		return v, e.fail(pos, "%s is %s, and the kernel can't make %s of that", v.name, v.typ, t)
	}
	v.typ = t
	return v, nil
}
