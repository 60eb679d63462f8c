package dwarfparam

// Kind is what a value is.
type Kind uint8

// Kinds of values.
const (
	Unknown  Kind = iota
	Signed        // integer
	Unsigned      // integer
	Bool
	Char    // one byte of text
	Enum    // integer; Param.Signed is not told, compilers show it as unsigned where they can
	Pointer // and references
	CString // pointer to char: text up to a zero byte
	Float
	Struct // and union, array, class
)

// Where is the kind of a Location.
type Where uint8

// Kinds of locations.
const (
	Nowhere  Where = iota // see Why
	Register              // the value is in Location.Register
	Stack                 // the value is in memory, at CFA + Location.Offset
	Memory                // the value is in memory, at the content of Location.Register + Location.Offset
)

// Location is where a value is before the first instruction of the function.
type Location struct {
	Where Where
	// Register is the number that the psABI gives the register in DWARF.
	Register int
	// Offset is in bytes. The CFA, at the first instruction, is the stack
	// pointer plus the return address that the call has pushed: rsp+8 on
	// amd64, sp on arm64.
	Offset int64
	// Why there is no location, when Where is Nowhere.
	Why string
}

// Param is a parameter, or a part of one.
type Param struct {
	Name string // "" when it has none
	Type string // as C, Go or Rust write it; "" when unknown
	Kind Kind
	Size int // bytes of the value; 0 when unknown
	// Location of the whole value; Nowhere when it is in Parts.
	Location Location
	// Parts are the pieces of a value that is in several places: ptr and len of
	// a Go string or Rust &str, the words of a small struct.
	Parts []Param
}
