package dwarfparam

// Kind is the kind of a value.
type Kind uint8

// Kinds of values.
const (
	Unknown  Kind = iota
	Signed        // integer
	Unsigned      // integer
	Bool
	Char    // one-byte integer that is text
	Enum    // integer with named values
	Pointer // address of something else, or a reference
	CString // address of text that ends with a NUL byte
	Text    // address and length of text: a Go string, Rust's &str; see Parts
	Float
	Struct // also union, array, class and complex number: see Parts
	Array  // only in a Type
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

// Location is the place of a value before the first instruction of the function runs.
type Location struct {
	Where Where
	// Register is the DWARF number of a general register (System V psABI figure 3.36: 0 rax, 1
	// rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, then r8 to r15; DWARF for the Arm 64-bit
	// Architecture: x0 to x30).
	Register int
	// Bit is the number of the value's lowest bit in the register. It is more than 0 for fields
	// of a struct that share a register.
	Bit int
	// Offset is in bytes. The CFA, at the first instruction, is the value that the stack
	// pointer had before the call: rsp+8 on amd64, sp on arm64.
	Offset int64
	// Why says why there is no location, if Where is Nowhere.
	Why string
}

// Param is a parameter, or a part of one.
type Param struct {
	Name string // "" if it has none; for a part, the field: "ptr", "a.x"
	Type string // as C, Go or Rust writes it; "" if unknown
	Kind Kind
	Size int // of the value in bytes; 0 if unknown
	// Location is the place of the whole value. It is Nowhere for a value in several registers:
	// see the Locations of its Parts.
	Location Location
	// Parts are the fields of a value that is not a single number: ptr and len of a Go string
	// or Rust &str, the members of a struct. It is nil if there are more than 16.
	Parts []Param
	// Of is the whole type if Options.Types is set.
	Of *Type
}
