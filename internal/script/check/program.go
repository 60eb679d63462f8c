// Package check gives the expressions of a program their types and finds what is wrong with it
// before anything is attached. Its result is a tree of its own, from which everything that is
// only spelling is gone: macros are expanded, constants folded, implicit conversions explicit,
// and every value that a clause takes from a hit has an index.
//
// Package check knows no kernel: what the host knows it asks an Env.
package check

import (
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/internal/script/value"
)

// A Program is a checked program.
type Program struct {
	Config    Config
	Maps      []*Map // in the order of their first use
	Functions []*Function
	Clauses   []*Clause       // in the order of the text
	Options   []NamedOption   // what getopt asks for, for --help
	Warnings  []*syntax.Error // what is accepted but may surprise
}

// Dialect is a version of the language, where versions disagree about results.
type Dialect uint8

// The dialects.
const (
	Current Dialect = iota // bpftrace's master: the smallest integer types, truths, block scopes
	V017                   // bpftrace 0.17: every integer has 64 bits
	Default                // the types of Current, and the results of 0.17 where 0.17 computes them correctly
)

// CountsEnd reports whether the length that str() takes includes the terminating zero byte, as in
// releases from 0.23 on.
func (d Dialect) CountsEnd() bool { return d == Current }

// DividesByZero reports whether x / 0 is 0 and x % 0 is x, as BPF computes them. Newer releases
// make both 1.
func (d Dialect) DividesByZero() bool { return d != Current }

// A Map is a map of the program.
type Map struct {
	value.Spec
	Index int // in Program.Maps

	scalar, keyed bool
	idle          bool        // it is declared, and nothing uses it
	key           *types.Type // a tuple if it has several parts
	value         *types.Type
	shape         *syntax.Pos // of the call that gave hist's and the like's numbers
	use           syntax.Pos
}

// A Var is a scratch variable. One name in two scopes is two variables.
type Var struct {
	Name string
	Type *types.Type
	Slot int // in the frame of its clause or function
	// Sized says that a declaration fixed the type.
	Sized bool

	from *path // where its value comes from, if it is set once
}

// A Clause is what one probe of the text does, with every attach point that it does it at.
type Clause struct {
	syntax.Pos
	Points    []*syntax.AttachPoint
	Predicate Expr // nil if there is none
	Body      *Block
	Vars      []*Var
	Sources   []*Source // what it needs from a hit, by index
}

// A Function is a function of the program.
type Function struct {
	syntax.Pos
	Name   string
	Params []*Var
	Result *types.Type
	Body   *Block
	Vars   []*Var // with the parameters
}

// NamedOption is an option of the program's command line that getopt names.
type NamedOption struct {
	Name, Default, Help string
	Type                *types.Type
}
