package check

import (
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
)

// An Expr is an expression with its type.
type Expr interface {
	syntax.Node
	Type() *types.Type
}

// Typed is what every expression has.
type Typed struct {
	syntax.Pos
	T *types.Type
}

// Type returns the type of the expression.
func (t *Typed) Type() *types.Type { return t.T }

// Expressions.
type (
	// Const is a constant: N of numbers, S of strings, buffers and arrays.
	Const struct {
		Typed
		N uint64
		S string

		literal bool // it is written in the program, so it folds and takes other types
	}
	// Local is a scratch variable.
	Local struct {
		Typed
		Var *Var
	}
	// Element is the value of a map at a key. Whole is a tuple that has all parts of the key; it
	// is nil where Keys has them one by one.
	Element struct {
		Typed
		Map   *Map
		Keys  []Expr
		Whole Expr
	}
	// Header is a value that every hit has, by the name of its builtin: pid, tid, cpu, nsecs,
	// elapsed, comm, probe, and what belongs to the run: rand, ncpus, cpid.
	Header struct {
		Typed
		Name string
		Mode string // of nsecs: boot, monotonic, tai or sw_tai
	}
	// FromHit is the value of a Source of the clause.
	FromHit struct {
		Typed
		Source int
	}
	// Load is the memory at an address that only the running program knows. It is read as T.
	Load struct {
		Typed
		Addr Expr
		User bool
	}
	// Read is a string (str), bytes (buf) or the strings of a vector (join) at an address that
	// only the running program knows.
	Read struct {
		Typed
		Form Form
		Addr Expr
		Len  Expr // nil for all that T can hold
		User bool
	}
	// Part is a member of a struct or an element of an array that is a value, at Offset bytes of
	// X, or at Index elements.
	Part struct {
		Typed
		X         Expr
		Offset    int
		BitOffset int
		Bits      int
		Index     Expr // of an array, nil for a constant Offset
	}
	// Member is an element of a tuple or record.
	Member struct {
		Typed
		X Expr
		N int
	}
	// Unary is - ~ or ! of a number.
	Unary struct {
		Typed
		Op string
		X  Expr
	}
	// Binary is an operation of two values. Both have the same type, except in shifts, and
	// strings may differ in size. && and || evaluate Y only if it matters.
	Binary struct {
		Typed
		Op   string
		X, Y Expr
	}
	// Increment is ++ or -- of a variable or an element of a map: it adds By and is the value after
	// that or, with Post, before.
	Increment struct {
		Typed
		Target Expr // a Local or an Element
		By     int64
		Post   bool
	}
	// Cond is C ? A : B.
	Cond struct {
		Typed
		C, A, B Expr
	}
	// Convert is X as T.
	Convert struct {
		Typed
		X Expr
	}
	// MakeTuple is a tuple or a record of values.
	MakeTuple struct {
		Typed
		Elems []Expr
	}
	// Call is a call of a function of the language. Map is of those that take a map. Args of
	// has_key, delete and find are the parts of the key, or one tuple.
	Call struct {
		Typed
		Func   string
		Map    *Map
		Format string // of printf and the like, strftime, time
		Args   []Expr
	}
	// Invoke is a call of a function of the program.
	Invoke struct {
		Typed
		Function *Function
		Args     []Expr
	}
	// BlockExpr is statements and then a value.
	BlockExpr struct {
		Typed
		Body   *Block
		Result Expr
	}
)

// A Stmt is a statement.
type Stmt interface{ syntax.Node }

// Statements.
type (
	// Do evaluates X for what it does. Dropped tells that the program says so: _ = X.
	Do struct {
		syntax.Pos
		X       Expr
		Dropped bool
	}
	// SetVar gives a variable a value of its type. X is nil for the zero value.
	SetVar struct {
		syntax.Pos
		Var *Var
		X   Expr
	}
	// SetMap gives an element of a map a value of its type.
	SetMap struct {
		syntax.Pos
		Elem *Element
		X    Expr
	}
	// Aggregate adds X to the aggregation of a map's element. X is nil for count().
	Aggregate struct {
		syntax.Pos
		Elem *Element
		X    Expr
	}
	// If is if C { Then } else Else. Else may be nil.
	If struct {
		syntax.Pos
		C    Expr
		Then *Block
		Else Stmt
	}
	// While is while C { Body }.
	While struct {
		syntax.Pos
		C    Expr
		Body *Block
	}
	// ForMap goes over what is in a map when it starts.
	ForMap struct {
		syntax.Pos
		Var  *Var // a tuple of key and value
		Map  *Map
		Body *Block
	}
	// ForRange goes over the integers from First to below End.
	ForRange struct {
		syntax.Pos
		Var        *Var
		First, End Expr
		Body       *Block
	}
	// Unroll does Body Count times.
	Unroll struct {
		syntax.Pos
		Count int
		Body  *Block
	}
	// Jump is return, break or continue.
	Jump struct {
		syntax.Pos
		Word string
		X    Expr // of a return from a function
	}
	// Block is statements.
	Block struct {
		syntax.Pos
		Stmts []Stmt
	}
)
