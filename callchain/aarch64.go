package callchain

// arm64's columns are those of "DWARF for the Arm 64-bit Architecture", 4.1:
// x0 to x30, sp, pc. perf numbers them alike
// (arch/arm64/include/uapi/asm/perf_regs.h).
var arm64 = machine{
	pc: 32, sp: 31, fp: 29, ra: 30, word: 8,
	perf: []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32},
	mask: 1<<33 - 1,
	// x19 to x30, sp, pc (AAPCS64, 6.1.1).
	entryMask: 0x3fff << 19,
	pcBit:     32, spBit: 31, fpBit: 29,
}

// stripPAC removes the pointer authentication code that a return address may
// carry above the address bits. Programs get addresses above 48 bits only by
// asking for them, and code is not mapped there.
func stripPAC(addr uint64) uint64 { return addr & (1<<48 - 1) }

// stripShortPAC does the same for a kernel with 39-bit addresses, where the
// code begins lower. It is tried when an address is nowhere else.
func stripShortPAC(addr uint64) uint64 { return addr & (1<<39 - 1) }
