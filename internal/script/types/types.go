// Package types holds the types of values of the one-liner language.
package types

// Kind is what sort of value a Type describes.
type Kind uint8

// The kinds. The aggregations are kinds of a map's value only.
const (
	None Kind = iota // no value: a statement, a call for what it does
	Int
	Bool
	String
	Buffer
	Pointer
	Array
	Struct // and union
	Tuple
	Record // a tuple with named elements
	KStack
	UStack
	KSym
	USym
	Username
	Inet
	MAC
	CgroupPath
	Timestamp // strftime's
	ProbeName
	Count
	Sum
	Min
	Max
	Avg
	Stats
	Hist
	LHist
	TSeries
)

// A Type is the type of a value. Types are values themselves: nobody changes one that is in
// use.
type Type struct {
	Kind   Kind
	Size   int    // bytes, of Int, Bool, Array and Struct; the most bytes of String and Buffer
	Signed bool   // Int; Sum, Min, Max, Avg and Stats of signed values
	Elem   *Type  // of Pointer and Array
	Len    int    // elements of Array
	Name   string // of Struct with "struct " or "union "; of Int that is an enum, with "enum "
	Fields []Field
	Array  bool // of String: an array of char, which may be full without an end and was not cut
	// Program is set where a value is printed: String or Int holds what the program itself contains, not
	// what a traced process chose.
	Program bool
	User    bool   // a Pointer to user memory (args of a uprobe, a system call's buffer)
	Mode    string // of KStack and UStack: "bpftrace", "perf", "raw", "build_id"
	Limit   int    // frames of KStack and UStack, 0 for all
}

// Field is a member of a Struct, or an element of a Tuple (Name is "") or Record.
type Field struct {
	Name      string // "" for an anonymous struct or union, whose members are found through it
	Type      *Type
	Offset    int // bytes from the start of the struct
	BitOffset int // from Offset, of a bit field
	Bits      int // width of a bit field, 0 if it is none
}

// Integers by name.
var (
	Void   = &Type{Kind: None}
	Int8   = &Type{Kind: Int, Size: 1, Signed: true}
	Int16  = &Type{Kind: Int, Size: 2, Signed: true}
	Int32  = &Type{Kind: Int, Size: 4, Signed: true}
	Int64  = &Type{Kind: Int, Size: 8, Signed: true}
	Uint8  = &Type{Kind: Int, Size: 1}
	Uint16 = &Type{Kind: Int, Size: 2}
	Uint32 = &Type{Kind: Int, Size: 4}
	Uint64 = &Type{Kind: Int, Size: 8}
	Truth  = &Type{Kind: Bool, Size: 1}
)

// Aggregates tells whether k is an aggregation: the value of a map that calls such as count()
// and hist() add to.
func (k Kind) Aggregates() bool { return k >= Count }
