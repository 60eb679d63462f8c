package callchain

// Mapping is one range of a process's executable memory.
type Mapping struct {
	Start, End uint64 // addresses: Start ≤ pc < End
	// Offset is the object's offset at Start: the file offset for a file, Start itself for
	// memory without a file. See Frame.
	Offset uint64
	Object ObjectID
	// Table is the object's unwind table, or nil if its code is unwound by frame pointer.
	Table *Table
}

// AddressSpace knows the executable mappings of one process at the time of the sample. Find
// returns false for an address that is not executable. Such an address ends a chain, so that
// data on the stack is not taken for code.
//
// If the AddressSpace is Versioned, an Unwinder may call Find only once per address and
// version.
type AddressSpace interface {
	Find(pc uint64) (Mapping, bool)
}

// Versioned is an AddressSpace whose answers an Unwinder may cache. Version returns a nonzero
// number that no other address space of the run has ever had. It changes whenever one of the
// mappings changes.
type Versioned interface {
	AddressSpace
	Version() uint64
}
