package callchain

// Mapping is one stretch of executable memory of a process.
type Mapping struct {
	Start, End uint64 // addresses: Start ≤ pc < End
	// Offset is the offset in the object of the byte at Start: the file offset
	// for a file, Start itself for memory without a file. See Frame.
	Offset uint64
	Object ObjectID
	// Table is the object's unwind table; nil for code that is unwound by
	// frame pointer.
	Table *Table
}

// AddressSpace knows the executable mappings of one process at the time of the
// sample. Find reports false for an address that is not executable: such an
// address ends a chain, so that data on the stack is not taken for code.
//
// An AddressSpace that is also Versioned is asked once per address and version
// only.
type AddressSpace interface {
	Find(pc uint64) (Mapping, bool)
}

// Versioned is an AddressSpace whose answers an Unwinder may remember. Version
// is a number that no other address space of the run has or had, and that
// changes when any mapping of this one changes. It is never zero.
type Versioned interface {
	AddressSpace
	Version() uint64
}
