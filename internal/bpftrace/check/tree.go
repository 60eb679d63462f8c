package check

import (
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// An Expr is an expression with its type.
type Expr interface {
	syntax.Node
	Type() *types.Type
}

// Typed is embedded in every expression.
type Typed struct {
	syntax.Pos
	T *types.Type
}

// Type returns the type of the expression.
func (t *Typed) Type() *types.Type { return t.T }

// Expressions.
type (
	// Const is a constant. N is the value of numbers, and S the value of strings, buffers and
	// arrays.
	Const struct {
		Typed
		N uint64
		S string

		literal bool // written in the program, so it folds and adapts its type
	}
	// Local is a scratch variable.
	Local struct {
		Typed
		Var *Var
	}
	// Element is the value of a map at a key. Whole is a tuple of all parts of the key, or nil if
	// Keys lists them.
	Element struct {
		Typed
		Map   *Map
		Keys  []Expr
		Whole Expr
	}
	// Header is a value that every hit has, or that belongs to the run. Name is its builtin: pid,
	// tid, cpu, nsecs, elapsed, comm, probe; rand, ncpus, cpid.
	Header struct {
		Typed
		Name string
		Mode string // of nsecs: boot, monotonic, tai or sw_tai
	}
	// FromHit is the value of a Source of the clause, by its index.
	FromHit struct {
		Typed
		Source int
	}
	// Load is the value of type T at an address that is known only at run time.
	Load struct {
		Typed
		Addr Expr
		User bool
	}
	// Read is a string (str), bytes (buf) or the strings of a vector (join) at an address that is
	// known only at run time.
	Read struct {
		Typed
		Form Form
		Addr Expr
		Len  Expr // nil for as much as T can hold
		User bool
	}
	// Part is a member of the struct, or an element of the array, that is the value X. It is at
	// Offset bytes, or at Index elements if Index is not nil.
	Part struct {
		Typed
		X         Expr
		Offset    int
		BitOffset int
		Bits      int
		Index     Expr // of an array; nil for a constant Offset
	}
	// Member is an element of a tuple or record.
	Member struct {
		Typed
		X Expr
		N int
	}
	// Unary is -, ~ or ! of a number.
	Unary struct {
		Typed
		Op string
		X  Expr
	}
	// Binary is an operation on two values of the same type, except that shift counts have any type
	// and strings any size. && and || evaluate Y only if needed.
	Binary struct {
		Typed
		Op   string
		X, Y Expr
	}
	// Increment adds By to a variable or a map element. Its value is the one after that, or before
	// if Post is set.
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
	// Convert is X converted to T.
	Convert struct {
		Typed
		X Expr
	}
	// MakeTuple is a tuple or a record of values.
	MakeTuple struct {
		Typed
		Elems []Expr
	}
	// Call is a call of a function of the language. Map is the map argument, if any. Args[0] of
	// has_key, delete and find is an Element with the key.
	Call struct {
		Typed
		Func   string
		Map    *Map
		Format string // of printf and the like, strftime, time
		Args   []Expr
	}
	// Invoke is a call of a function that the program defines.
	Invoke struct {
		Typed
		Function *Function
		Args     []Expr
	}
	// BlockExpr runs statements and then has the value Result.
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
	// Do evaluates X for its effects. Dropped says that the program discards the value explicitly:
	// _ = X.
	Do struct {
		syntax.Pos
		X       Expr
		Dropped bool
	}
	// SetVar assigns a value of the variable's type. X is nil for the zero value.
	SetVar struct {
		syntax.Pos
		Var *Var
		X   Expr
	}
	// SetMap assigns a value of the element's type to a map element.
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
	// ForMap iterates over the elements that a map has when the loop starts.
	ForMap struct {
		syntax.Pos
		Var  *Var // the pair of key and value, as a tuple
		Map  *Map
		Body *Block
	}
	// ForRange iterates over the integers from First to End, without End.
	ForRange struct {
		syntax.Pos
		Var        *Var
		First, End Expr
		Body       *Block
	}
	// Unroll runs Body Count times.
	Unroll struct {
		syntax.Pos
		Count int
		Body  *Block
	}
	// Jump is return, break or continue.
	Jump struct {
		syntax.Pos
		Word string
		X    Expr // value of a return from a function
	}
	// Block is statements.
	Block struct {
		syntax.Pos
		Stmts []Stmt
	}
)
