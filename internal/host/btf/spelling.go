package btf

import (
	"strconv"
	"strings"
)

// String returns the type as written in C without a name: "const char *", "int (*)(void)",
// "struct path", "char [16]". Anonymous structs, unions and enums are "struct {…}" and so on. A
// Func gives its type.
func (t Type) String() string { return t.Declare("") }

// Declare returns a declaration of name as written in C: "char name[16]".
func (t Type) Declare(name string) string {
	budget := maxSpelled
	return t.declare(name, maxChain, &budget)
}

// maxSpelled bounds the types in one declaration: parameters might have parameters of their
// own, and so on.
const maxSpelled = 1000

// maxName bounds a name in a declaration, in bytes; the kernel's are shorter.
const maxName = 512

// declare adds t's part of the declaration around inner, which is the part written so far. Like
// C's declarators, it works from the inside out.
func (t Type) declare(inner string, depth int, budget *int) string {
	if *budget--; depth == 0 || *budget < 0 {
		return join("…", inner)
	}
	depth--
	next := t.Target()
	switch t.Kind() {
	case Pointer:
		inner = "*" + inner
		switch next.skipQualifiers().Kind() {
		case Array, FuncProto:
			inner = "(" + inner + ")"
		}
		return next.declare(inner, depth, budget)
	case Array:
		return next.declare(inner+"["+strconv.Itoa(t.Len())+"]", depth, budget)
	case FuncProto:
		return next.declare(inner+"("+t.params(depth, budget)+")", depth, budget)
	case Func, Var, TypeTag, DeclTag:
		return next.declare(inner, depth, budget)
	case Const, Volatile, Restrict:
		// In C a qualifier of an array belongs to its elements. Only a pointer has it after
		// itself: "*const name".
		word := t.Kind().String()
		switch k := next.skipQualifiers().Kind(); k {
		case Pointer:
			return next.declare(join(word, inner), depth, budget)
		case FuncProto:
			return next.declare(inner, depth, budget)
		}
		return word + " " + next.declare(inner, depth, budget)
	}
	return join(t.specifier(), inner)
}

// specifier returns the first part of a declaration.
func (t Type) specifier() string {
	name, word := t.Name(), ""
	name = name[:min(len(name), maxName)]
	switch t.Kind() {
	case Void:
		return "void"
	case Struct, Union:
		word = t.Kind().String()
	case Enum, Enum64:
		word = "enum"
	case Forward:
		word = "struct"
		if t.IsUnion() {
			word = "union"
		}
	default:
		return name
	}
	if name == "" {
		name = "{…}"
	}
	return word + " " + name
}

func (t Type) params(depth int, budget *int) string {
	if t.Len() == 0 {
		return "void"
	}
	var out strings.Builder
	for i := range t.Len() {
		if i > 0 {
			out.WriteString(", ")
		}
		if *budget < 0 {
			out.WriteString("…")
			break
		}
		p := t.Param(i)
		if i == t.Len()-1 && p.Type.Kind() == Void {
			out.WriteString("...")
			break
		}
		out.WriteString(p.Type.declare("", depth, budget))
	}
	return out.String()
}

func (t Type) skipQualifiers() Type {
	for range maxChain {
		switch t.Kind() {
		case Const, Volatile, Restrict, TypeTag:
			t = t.Target()
		default:
			return t
		}
	}
	return Type{}
}

// join puts a type before a declarator: "char *", "char *name", "char [16]".
func join(specifier, declarator string) string {
	if declarator == "" {
		return specifier
	}
	return specifier + " " + declarator
}
