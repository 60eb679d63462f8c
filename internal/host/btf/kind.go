package btf

import "fmt"

// Kind is the kind of a type.
type Kind uint8

// The kinds of types, with the numbers in include/uapi/linux/btf.h. Some are not types but
// things with a type: functions, variables, and tags of either.
const (
	Void      Kind = 0 // type 0, and references to types that do not exist
	Int       Kind = 1
	Pointer   Kind = 2
	Array     Kind = 3
	Struct    Kind = 4
	Union     Kind = 5
	Enum      Kind = 6
	Forward   Kind = 7 // a struct or union that is described elsewhere, or not at all
	Typedef   Kind = 8
	Volatile  Kind = 9
	Const     Kind = 10
	Restrict  Kind = 11
	Func      Kind = 12
	FuncProto Kind = 13
	Var       Kind = 14
	Datasec   Kind = 15
	Float     Kind = 16
	DeclTag   Kind = 17
	TypeTag   Kind = 18
	Enum64    Kind = 19
)

var kindNames = [...]string{
	"void", "int", "pointer", "array", "struct", "union", "enum", "forward declaration", "typedef", "volatile", "const",
	"restrict", "function", "function type", "variable", "section", "float", "declaration tag", "type tag", "enum64",
}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// layout is the number of bytes after the 12 bytes that describe any type.
type layout struct {
	fixed, each uint8 // bytes for the type, and for each of its members
	known       bool
}

// layouts are the layouts of the kinds above. The data itself may describe newer kinds (struct
// btf_layout, Linux 7.1).
var layouts = [maxKind + 1]layout{
	Void: {known: false}, Int: {4, 0, true}, Pointer: {0, 0, true}, Array: {12, 0, true}, Struct: {0, 12, true},
	Union: {0, 12, true}, Enum: {0, 8, true}, Forward: {0, 0, true}, Typedef: {0, 0, true}, Volatile: {0, 0, true},
	Const: {0, 0, true}, Restrict: {0, 0, true}, Func: {0, 0, true}, FuncProto: {0, 8, true}, Var: {4, 0, true},
	Datasec: {0, 12, true}, Float: {0, 0, true}, DeclTag: {4, 0, true}, TypeTag: {0, 0, true}, Enum64: {0, 12, true},
}
