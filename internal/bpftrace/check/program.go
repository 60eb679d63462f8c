// Package check infers the types of a program's expressions and finds its errors before anything is
// attached. Its result is a separate tree without syntactic variants. Macros are expanded,
// constants folded and implicit conversions explicit. Every value that a clause takes from a hit
// has an index.
//
// Package check knows nothing about the kernel. It asks an Env about the host.
package check

import (
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// A Program is a checked program.
type Program struct {
	Config    Config
	Maps      []*Map // in the order of their first use
	Functions []*Function
	Clauses   []*Clause       // in the order of the text
	Options   []NamedOption   // options that the program reads with getopt, for --help
	Warnings  []*syntax.Error // legal but possibly surprising
}

// Dialect is a version of the language. Versions differ in the results of some programs.
type Dialect uint8

// The dialects.
const (
	Current Dialect = iota // bpftrace's master: the smallest integer types, booleans, block scopes
	V017                   // bpftrace 0.17: all integers have 64 bits
	Default                // the types of Current, and the results of 0.17 where 0.17 computes them correctly
)

// CountsEnd reports whether the length argument of str() includes the terminating zero byte, as in
// bpftrace 0.23 and later.
func (d Dialect) CountsEnd() bool { return d == Current }

// DividesByZero reports whether x / 0 is 0 and x % 0 is x, as BPF computes them. In newer releases
// both are 1.
func (d Dialect) DividesByZero() bool { return d != Current }

// A Map is a map of the program.
type Map struct {
	value.Spec
	Index int // in Program.Maps

	scalar, keyed bool
	idle          bool        // declared but never used
	key           *types.Type // a tuple if it has several parts
	value         *types.Type
	shape         *syntax.Pos // of the call that set the constants of hist, lhist or tseries first
	use           syntax.Pos
}

// A Var is a scratch variable. The same name in two scopes is two variables.
type Var struct {
	Name string
	Type *types.Type
	Slot int // in the frame of its clause or function
	// sized reports whether a declaration fixed the type.
	sized bool

	from *path // where its value comes from, if it is set only once
}

// A Clause is one probe of the program, with all its attach points.
type Clause struct {
	syntax.Pos
	Points    []*syntax.AttachPoint
	Predicate Expr // nil if there is none
	Body      *Block
	Vars      []*Var
	Sources   []*Source // the values that it needs from a hit, by index
}

// A Function is a function of the program.
type Function struct {
	syntax.Pos
	name   string
	params []*Var
	result *types.Type
	Body   *Block
	Vars   []*Var // including the parameters
}

// NamedOption is a command-line option of the program, which it reads with getopt.
type NamedOption struct {
	Name, Default, Help string
	Type                *types.Type
}
