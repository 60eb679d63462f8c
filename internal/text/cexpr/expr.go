// Package cexpr parses C expressions, as used in the kernel's print formats and event filters
// and in paths of structure members. It supports C's tokens, precedence and casts, GNU C's a ?:
// b and statement expressions, and integer types with their conversions.
//
//	x, err := cexpr.Parser{}.Parse("path->dentry->d_name.name")
//
//	text → Parser.Parse, ParseList → Expr, which the caller evaluates
//
// The package does not interpret names. They may start with a dollar sign.
package cexpr

import "strings"

// Expr is an expression: a pointer to one of the types below.
type Expr interface {
	Pos() int // byte offset in the text, for errors
}

// At is the position of an expression: its first byte, or its operator if operands come before
// that.
type At int

// Pos returns the byte offset in the text.
func (a At) Pos() int { return int(a) }

type (
	// Number is an integer or a character.
	Number struct {
		At
		Value uint64
		Type  Type
	}

	// String is a string, unquoted and unescaped.
	String struct {
		At
		Text string
	}

	// Name is a variable or a constant.
	Name struct {
		At
		Text string
	}

	// Operation is an operator with its operands. Some operators have special names:
	//
	//   - [] is a[b];
	//   - ?: is a ? b : c, or GNU C's a ?: b with two operands;
	//   - ({}) is GNU C's ({ a; b; });
	//   - {} is {a, b}, an argument of the kernel's helpers.
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

	// SizeOf is sizeof(X), or sizeof(Type) if X is nil.
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

// TypeName is a type as written in a cast, without qualifiers.
type TypeName struct {
	At             // position of the last word
	Words []string // "unsigned", "long"; "struct", "page"
	Stars int
}

// String returns the type in a form that LookupType accepts.
func (t *TypeName) String() string {
	return strings.Join(t.Words, " ") + strings.Repeat("*", t.Stars)
}

// isTagged reports whether the type starts with struct, union or enum.
func (t *TypeName) isTagged() bool {
	return len(t.Words) > 0 && (t.Words[0] == "struct" || t.Words[0] == "union" || t.Words[0] == "enum")
}
