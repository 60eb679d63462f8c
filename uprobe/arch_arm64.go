package uprobe

import "debug/elf"

// machine is what this program's kernel runs.
const machine = elf.EM_AARCH64

// cfaOffset is how far above the stack pointer the CFA is at a function's first
// instruction: a call pushes nothing.
const cfaOffset = 0

// instructionPointer is the kernel's name of the register that leads to the probe.
const instructionPointer = "%pc"

// registerNames are the kernel's names (arch/arm64/kernel/ptrace.c,
// regoffset_table) of the registers by their numbers in DWARF for AArch64.
var registerNames = [...]string{
	"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",
	"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20",
	"x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",
}

// goRegisters are those in which Go passes integers and pointers, arguments and
// results (src/cmd/compile/abi-internal.md of the Go distribution).
var goRegisters = [...]string{
	"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7",
	"x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
}
