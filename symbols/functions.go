package symbols

// FunctionKind says what a name of code stands for.
type FunctionKind uint8

// Kinds of functions.
const (
	// Defined is code of this file.
	Defined FunctionKind = iota
	// Indirect is an STT_GNU_IFUNC: the code at its place chooses, at load
	// time, the function that its callers will call.
	Indirect
	// PLT is a stub of this file that jumps to a function of another file; its
	// name ends with "@plt".
	PLT
	// Imported is a function of another file. It has no place in this one.
	Imported
)

// Function is a name of code in a file. One place may have several.
type Function struct {
	// Name is as the linker knows it, without the symbol version; see Demangle.
	Name string
	// Offset is where the function begins in the file, in bytes; 0 for an
	// Imported one.
	Offset uint64
	// Size in bytes: what the symbol says, or where it says nothing up to the
	// next symbol or the end of the section; 0 for an Imported one.
	Size uint64
	Kind FunctionKind
}

// Functions returns every name of code that the file has, aliases too, sorted by
// offset and name, the Imported ones first.
func (f *File) Functions() ([]Function, error) {
	return nil, errNotYet
}
