package dwarfparam

// Kind is what a value is.
type Kind uint8

// Kinds of values.
const (
	Unknown  Kind = iota
	Signed        // integer
	Unsigned      // integer
	Bool
	Char    // integer of one byte that is text
	Enum    // integer with names
	Pointer // address of something else, and references
	CString // address of text that ends with a zero byte
	Text    // address and length of text: a Go string, Rust's &str; see Parts
	Float
	Struct // and union, array, class, complex number: see Parts
	Array  // of a Type only
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
	// Register is the number of a general register in DWARF (System V psABI
	// figure 3.36: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, then
	// r8 to r15; DWARF for the Arm 64-bit Architecture: x0 to x30).
	Register int
	// Bit is how many bits of the register are below the value, which is more
	// than 0 for fields of a struct that share a register.
	Bit int
	// Offset is in bytes. The CFA, at the first instruction, is the stack
	// pointer plus the return address that the call has pushed: rsp+8 on
	// amd64, sp on arm64.
	Offset int64
	// Why there is no location, when Where is Nowhere.
	Why string
}

// Param is a parameter, or a part of one.
type Param struct {
	Name string // "" when it has none; of a part the field's: "ptr", "a.x"
	Type string // as C, Go or Rust write it; "" when unknown
	Kind Kind
	Size int // bytes of the value; 0 when unknown
	// Location of the whole value. It is Nowhere for a value in several
	// registers, which only its Parts have.
	Location Location
	// Parts are the fields of a value that is not one number: ptr and len of a
	// Go string or Rust &str, the members of a struct. Nil when there are more
	// than 16.
	Parts []Param
	// Of is the whole type, if Options ask for it.
	Of *Type
}
