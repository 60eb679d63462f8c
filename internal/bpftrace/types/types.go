// Package types represents the types of values in the one-liner language.
package types

// Kind is the kind of value that a Type describes.
type Kind uint8

// The kinds. Aggregations are kinds of map values only.
const (
	None Kind = iota // no value: a statement, or a call for its effects
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
	Timestamp // of strftime()
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

// A Type is the type of a value. Types are immutable once in use.
type Type struct {
	Kind   Kind
	Size   int    // in bytes, of Int, Bool, Array and Struct; the maximum of String and Buffer
	Signed bool   // of Int; for Sum, Min, Max, Avg and Stats, the values are signed
	Elem   *Type  // of Pointer and Array
	Len    int    // elements of Array
	Name   string // of Struct, with "struct " or "union "; of an Int that is an enum, with "enum "
	Fields []Field
	Array  bool // of String: an array of char, which may be full without a terminating zero although it was not cut
	// Program is set on a String or Int that is printed, if its text is part of the program and not
	// chosen by a traced process.
	Program bool
	User    bool   // of Pointer: to user memory (args of a uprobe, a system call's buffer)
	Mode    string // of KStack and UStack: "bpftrace", "perf", "raw", "build_id"
	Limit   int    // maximum number of frames of KStack and UStack, 0 for all
}

// Field is a member of a Struct, or an element of a Tuple (Name is "") or Record.
type Field struct {
	Name      string // "" for an anonymous struct or union, which Member searches too
	Type      *Type
	Offset    int // in bytes from the start of the struct
	BitOffset int // in bits from Offset, of a bit field
	Bits      int // width of a bit field, 0 for other fields
}

// The basic types.
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

// Aggregates reports whether k is an aggregation: a map value that calls such as count() and hist()
// update.
func (k Kind) Aggregates() bool { return k >= Count }
