package kprobe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/btf"
)

// intWords are the words of C's integer types.
var intWords = []string{"void", "char", "short", "int", "long", "signed", "unsigned", "_Bool", "bool"}

// typeName reads the type of a cast and the parenthesis that closes it, behind
// the one that opens it. It reads nothing and is false if what follows is no type
// but an expression.
func (e *evaluator) typeName() (ctype, bool, error) {
	start := e.pos
	words, last, kind := []string(nil), 0, btf.Void
	for {
		e.blanks()
		at := e.pos
		word := e.identifier()
		if word == "" {
			break
		}
		switch {
		case word == "const" || word == "volatile":
		case kind == btf.Void && (word == "struct" || word == "union" || word == "enum"):
			kind = map[string]btf.Kind{"struct": btf.Struct, "union": btf.Union, "enum": btf.Enum}[word]
		default:
			words, last = append(words, word), at
		}
	}
	stars := 0
	for e.eat("*") {
		stars++
		for {
			at := e.pos
			if word := e.identifier(); word != "const" && word != "volatile" {
				e.pos = at
				break
			}
		}
	}
	isType := kind != btf.Void || len(words) > 1 || len(words) == 1 && (stars > 0 || !e.isParameter(words[0]))
	if !isType || len(words) == 0 || !e.eat(")") {
		if kind != btf.Void || len(words) > 1 {
			return ctype{}, false, e.fail(e.pos, "a cast is (TYPE)EXPRESSION, for instance ((struct sock *)x)->sk_family")
		}
		e.pos = start
		return ctype{}, false, nil
	}
	t, err := e.lookup(kind, words)
	if err != nil {
		return ctype{}, false, e.fail(last, "%v", err)
	}
	return ctype{t, stars}, true, nil
}

func (e *evaluator) isParameter(name string) bool {
	return slices.ContainsFunc(e.params, func(p param) bool { return p.name == name })
}

// lookup finds the type that words name. A struct's or union's name does without
// its keyword, since definitions are written with few blanks.
func (e *evaluator) lookup(kind btf.Kind, words []string) (btf.Type, error) {
	name := strings.Join(words, " ")
	if kind == btf.Void && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(intWords, w) }) {
		return e.integer(words)
	}
	if len(words) != 1 {
		return btf.Type{}, fmt.Errorf("%s is no type", name)
	}
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
		return btf.Type{}, fmt.Errorf("the kernel has no %s %s; near it: %s", what, name, strings.Join(best, ", "))
	}
	return btf.Type{}, fmt.Errorf("the kernel has no %s %s", what, name)
}

// integer finds the integer type of C's words, in any order.
func (e *evaluator) integer(words []string) (btf.Type, error) {
	count := make(map[string]int)
	for _, w := range words {
		count[w]++
	}
	size, signed := uint64(4), count["unsigned"] == 0
	switch {
	case count["void"] > 0:
		return btf.Type{}, nil
	case count["_Bool"]+count["bool"] > 0:
		size, signed = 1, false
	case count["char"] > 0:
		size = 1
	case count["short"] > 0:
		size = 2
	case count["long"] > 0:
		size = 8
	}
	plain := count["char"] > 0 && count["signed"]+count["unsigned"] == 0
	for t := range e.specs[len(e.specs)-1].Types() {
		if t.Kind() != btf.Int {
			continue
		}
		n, _ := t.Size()
		isBool := count["_Bool"]+count["bool"] > 0
		if n == size && t.Bool() == isBool && (plain && t.Name() == "char" || !plain && t.Signed() == signed && t.Name() != "char") {
			return t, nil
		}
	}
	return btf.Type{}, fmt.Errorf("the kernel's type information has no %s", strings.Join(words, " "))
}

// unsignedLong is the type of a register's value of which nothing is known.
func (e *evaluator) unsignedLong() ctype {
	t, _ := e.integer([]string{"unsigned", "long"})
	return ctype{t: t}
}

// cast makes a value one of another type, if the kernel need not compute for it.
func (e *evaluator) cast(v value, t ctype, pos int) (value, error) {
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
