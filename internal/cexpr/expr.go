// Package cexpr reads expressions of C as the kernel's print formats and paths of
// its structures have them: tokens, precedence, casts, GNU C's a ?: b and
// statement expressions, and the types of integers with their conversions.
//
//	text → Parser.Parse, ParseList → Expr, which its users evaluate
//
// Names mean nothing here. They may begin with a dollar sign.
package cexpr

import "strings"

// Expr is an expression: a pointer to one of the types below.
type Expr interface {
	Pos() int // the byte of the text that an error points at
}

// At is where an expression is: its first byte, or the operator of one that has
// operands before it.
type At int

// Pos returns the byte of the text.
func (a At) Pos() int { return int(a) }

type (
	// Number is an integer or a character.
	Number struct {
		At
		Value uint64
		Type  Type
	}

	// String is a string without its quotes and escapes.
	String struct {
		At
		Text string
	}

	// Name is a variable or a constant.
	Name struct {
		At
		Text string
	}

	// Operation is an operator of C with one or two operands, a[b] as [], a ? b : c
	// as ?: (of GNU C's a ?: b without the second operand), GNU C's ({ a; b; }) as
	// ({}), and {a, b}, an argument of the kernel's helpers, as {}.
	Operation struct {
		At
		Op   string
		Args []Expr
	}

	// Member is X Op Name; Op is -> or . (dot).
	Member struct {
		At
		X    Expr
		Op   string
		Name Name
	}

	// Call is Name(Args).
	Call struct {
		At
		Name string
		Args []Expr
	}

	// Cast is (Type)X.
	Cast struct {
		At
		Type TypeName
		X    Expr
	}

	// SizeOf is sizeof(X), or of a type if X is nil.
	SizeOf struct {
		At
		Type TypeName
		X    Expr
	}

	// Declaration is Type Name = X, a statement within ({}).
	Declaration struct {
		At
		Type TypeName
		Name string
		X    Expr
	}
)

// TypeName is a type as it is written in a cast, without qualifiers.
type TypeName struct {
	At             // the last word
	Words []string // "unsigned", "long"; "struct", "page"
	Stars int
}

// String is the type as LookupType takes it.
func (t *TypeName) String() string {
	return strings.Join(t.Words, " ") + strings.Repeat("*", t.Stars)
}

// IsTagged reports whether the type begins with struct, union or enum.
func (t *TypeName) IsTagged() bool {
	return len(t.Words) > 0 && (t.Words[0] == "struct" || t.Words[0] == "union" || t.Words[0] == "enum")
}
