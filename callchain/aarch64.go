package callchain

// stripPAC removes the pointer authentication code that a return address may carry above the
// address bits. Addresses above 48 bits exist only for programs that ask for them, and code is
// not mapped there.
func stripPAC(addr uint64) uint64 { return addr & (1<<48 - 1) }

// stripShortPAC does the same for a kernel with 39-bit addresses, where the code starts lower.
// The unwinder tries it if an address is not found otherwise.
func stripShortPAC(addr uint64) uint64 { return addr & (1<<39 - 1) }
