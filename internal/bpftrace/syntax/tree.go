package syntax

// Pos is a position in the text of a program.
type Pos struct {
	File string // name of the text, "" for -e
	Line int    // from 1
	Col  int    // from 1, in bytes
}

// A Program is a parsed text, including everything that it imports. Declarations are in program
// order.
type Program struct {
	Sources     []Source     // the texts: the program's own, then those it imports
	includes    []include    // headers, whose types the kernel knows
	Definitions []Definition // C definitions: structs, enums, typedefs
	Config      []Setting
	Maps        []*MapDecl
	Macros      []*Macro
	Functions   []*Function
	Probes      []*Probe
}

// Source is a text that a Pos refers to.
type Source struct {
	name string // Pos.File
	Text string
}

// include is #include <path>, or a header given on the command line, which has no Pos.
type include struct {
	Pos
	path string
}

// A Definition is a type that the program defines in C.
type Definition interface {
	Node
	definition()
}

// Node is anything that has a position in the text.
type Node interface {
	Position() Pos
}

// Position returns p. It makes every type that embeds a Pos a Node.
func (p Pos) Position() Pos { return p }

// StructDef defines a struct or a union. It has the layout that C gives it on this architecture.
type StructDef struct {
	Pos
	Name   string // with "struct " or "union "; anonymous ones have a generated name
	Union  bool
	Packed bool
	Align  int // of __attribute__((aligned(Align))), in bytes; 0 if there is none
	Fields []FieldDef
}

// FieldDef is a member of a StructDef. One without a name is an anonymous struct or union.
type FieldDef struct {
	Pos
	Name string
	Type *TypeExpr
	Bits int // width of a bit field, 0 for other members

	Packed bool // __attribute__((packed)) of this member only
	Align  int  // of this member's __attribute__((aligned(Align))), in bytes; 0 if there is none
}

// EnumDef defines an enum's constants.
type EnumDef struct {
	Pos
	Name   string // with "enum "; "" for an anonymous enum
	Values []EnumValue
}

// EnumValue is a constant of an EnumDef.
type EnumValue struct {
	Pos
	Name  string
	Value int64
}

// TypedefDef names a type.
type TypedefDef struct {
	Pos
	Name string
	Type *TypeExpr
}

func (*StructDef) definition()  {}
func (*EnumDef) definition()    {}
func (*TypedefDef) definition() {}

// Setting is a line of the config block.
type Setting struct {
	Pos
	Name  string // lower case, without bpftrace_
	Value Expr   // *Int, *Str, *Bool, or *Ident for a bare word
}

// MapDecl declares a map and its kind: let @a = lruhash(100).
type MapDecl struct {
	Pos
	Name string // with @
	Kind string // hash, lruhash, percpuhash, …
	Size Expr
}

// Macro is a hygienic macro. Package check expands its calls.
type Macro struct {
	Pos
	Name   string
	Params []MacroParam
	Body   *BlockExpr
}

// MacroParam is $name (a variable), @name (a map) or name (an expression).
type MacroParam struct {
	Pos
	Name string // with $ or @
}

// Function is fn name($a : int64) : void { … }.
type Function struct {
	Pos
	Name   string
	Params []Param
	Result *TypeExpr
	Body   *Block
}

// Param is a parameter of a Function.
type Param struct {
	Pos
	Name string // with $
	Type *TypeExpr
}

// A Probe is a list of attach points and the code to run at them.
type Probe struct {
	Pos
	Points    []*AttachPoint
	Predicate Expr // nil if there is none
	Body      *Block
}

// AttachPoint is an attach point, split into words. Their meaning depends on the provider.
type AttachPoint struct {
	Pos
	name     string   // name= before the provider, or ""
	Provider string   // full name: kprobe, uretprobe, begin, …, also if the program uses another one
	Args     []string // words after the provider, unquoted, with positional parameters replaced; "" for a file that the program leaves out
	Text     string   // value of the probe builtin: full provider name and words
	Capitals bool     // the program writes BEGIN or END, as in releases up to 0.23
}

// An Expr is an expression.
type Expr interface {
	Node
	expr()
}

// Expressions.
type (
	// Int is an integer literal, a character or a duration in nanoseconds.
	Int struct {
		Pos
		Value    uint64
		Negative bool // -Value; folded from a unary minus
		Text     string
	}
	// Str is a string literal, unescaped.
	Str struct {
		Pos
		Value string
	}
	// Bool is true or false.
	Bool struct {
		Pos
		Value bool
	}
	// Ident is a builtin, an enum constant, a macro without arguments or a stack mode.
	Ident struct {
		Pos
		Name string
	}
	// Positional is $1, $2, …
	Positional struct {
		Pos
		N int // from 1
	}
	// PositionalCount is $#.
	PositionalCount struct{ Pos }
	// Var is a scratch variable.
	Var struct {
		Pos
		Name string // with $
	}
	// Map is a map, or an element of one if it has Keys. @x[1,2] has two Keys. @x[(1,2)] has one,
	// which is a Tuple.
	Map struct {
		Pos
		Name string // with @
		Keys []Expr
	}
	// Call is a call of a function or a macro. Bang is set for name!(), which is always a macro.
	Call struct {
		Pos
		Func string
		Args []Expr // a TypeArg for each type
		Bang bool
	}
	// TypeArg is a type as an argument of a call.
	TypeArg struct {
		Pos
		Type *TypeExpr
	}
	// Unary is a prefix operator, ! ~ - + * & ++ or --. If Postfix is set, it is ++ or -- after X.
	Unary struct {
		Pos
		Op      string
		X       Expr
		Postfix bool
	}
	// Binary is X Op Y.
	Binary struct {
		Pos // of the operator
		Op  string
		X   Expr
		Y   Expr
	}
	// Ternary is Cond ? Then : Else. Then is nil in the form Cond ?: Else.
	Ternary struct {
		Pos
		Cond, Then, Else Expr
	}
	// Field is X.Name, or X->Name if Arrow is set.
	Field struct {
		Pos
		X     Expr
		Name  string
		Arrow bool
	}
	// Member is X.N, an element of a tuple.
	Member struct {
		Pos
		X Expr
		N int
	}
	// Index is X[Index].
	Index struct {
		Pos
		X, Index Expr
	}
	// Cast is (Type)X.
	Cast struct {
		Pos
		Type *TypeExpr
		X    Expr
	}
	// Tuple is (a, b). A tuple with one element is (a,).
	Tuple struct {
		Pos
		Elems []Expr
	}
	// Record is (name=a, other=b).
	Record struct {
		Pos
		Names []string
		Elems []Expr
	}
	// Sizeof is sizeof(TYPE) or sizeof(X). The other field is nil.
	Sizeof struct {
		Pos
		Type *TypeExpr
		X    Expr
	}
	// Offsetof is offsetof(TYPE, a.b) or offsetof(X, a.b).
	Offsetof struct {
		Pos
		Type *TypeExpr
		X    Expr
		Path []string
	}
	// BlockExpr is { statements; expr }.
	BlockExpr struct {
		Pos
		Stmts  []Stmt
		Result Expr // nil if the block has no value
	}
	// Comptime is comptime X: X is evaluated before the program runs.
	Comptime struct {
		Pos
		X Expr
	}
)

func (*Int) expr()             {}
func (*Str) expr()             {}
func (*Bool) expr()            {}
func (*Ident) expr()           {}
func (*Positional) expr()      {}
func (*PositionalCount) expr() {}
func (*Var) expr()             {}
func (*Map) expr()             {}
func (*Call) expr()            {}
func (*TypeArg) expr()         {}
func (*Unary) expr()           {}
func (*Binary) expr()          {}
func (*Ternary) expr()         {}
func (*Field) expr()           {}
func (*Member) expr()          {}
func (*Index) expr()           {}
func (*Cast) expr()            {}
func (*Tuple) expr()           {}
func (*Record) expr()          {}
func (*Sizeof) expr()          {}
func (*Offsetof) expr()        {}
func (*BlockExpr) expr()       {}
func (*Comptime) expr()        {}

// A Stmt is a statement.
type Stmt interface {
	Node
	stmt()
}

// Statements.
type (
	// ExprStmt is an expression that is evaluated for its effects: printf(…), @++.
	ExprStmt struct {
		Pos
		X Expr
	}
	// Assign is Left Op Right. Op is = or an assignment operator such as +=. Left is a *Var, a
	// *Map, or nil for _ = Right.
	Assign struct {
		Pos
		Op    string
		Left  Expr
		Right Expr
	}
	// Let is let $x : TYPE = Value. Type and Value may be nil.
	Let struct {
		Pos
		Name  string // with $
		Type  *TypeExpr
		Value Expr
	}
	// If is if Cond { Then } else Else. Else is nil, a *Block or another *If.
	If struct {
		Pos
		Cond Expr
		Then *Block
		Else Stmt
	}
	// While is while Cond { Body }.
	While struct {
		Pos
		Cond Expr
		Body *Block
	}
	// ForMap is for $kv : @map { Body }.
	ForMap struct {
		Pos
		Var  string // with $
		Map  *Map
		Body *Block
	}
	// ForRange is for $i : First..End { Body }. End is excluded.
	ForRange struct {
		Pos
		Var        string // with $
		First, End Expr
		Body       *Block
	}
	// Unroll is unroll(Count) { Body }.
	Unroll struct {
		Pos
		Count Expr
		Body  *Block
	}
	// Jump is return with an optional Value, break or continue.
	Jump struct {
		Pos
		Word  string
		Value Expr
	}
	// Block is { Stmts }, with its own scope.
	Block struct {
		Pos
		Stmts []Stmt
	}
)

func (*ExprStmt) stmt() {}
func (*Assign) stmt()   {}
func (*Let) stmt()      {}
func (*If) stmt()       {}
func (*While) stmt()    {}
func (*ForMap) stmt()   {}
func (*ForRange) stmt() {}
func (*Unroll) stmt()   {}
func (*Jump) stmt()     {}
func (*Block) stmt()    {}

// A TypeExpr is a type as the program writes it: a base, then pointers and arrays. int8*[4] is an
// array of four pointers. C declarations are converted to this order.
type TypeExpr struct {
	Pos
	Base      string // "int32", "struct task_struct", "string"; "" for typeof and a tuple
	Typeof    Expr   // typeof(X)
	Tuple     []*TypeExpr
	Modifiers []Modifier // from left to right
}

// Modifier makes the type before it a pointer or an array.
type Modifier struct {
	Pointer bool
	Len     int // of an array; -1 if the program gives none
}
