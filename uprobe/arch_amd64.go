package uprobe

import "debug/elf"

// machine is what this program's kernel runs.
const machine = elf.EM_X86_64

// cfaOffset is how far above the stack pointer the CFA is at a function's first
// instruction: the call has pushed the return address.
const cfaOffset = 8

// instructionPointer is the kernel's name of the register that leads to the probe.
const instructionPointer = "%ip"

// registerNames are the kernel's names (arch/x86/kernel/ptrace.c,
// regoffset_table) of the registers by the numbers of the psABI's figure 3.36.
var registerNames = [...]string{
	"ax", "dx", "cx", "bx", "si", "di", "bp", "sp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
}

// goRegisters are those in which Go passes integers and pointers, arguments and
// results (src/cmd/compile/abi-internal.md of the Go distribution).
var goRegisters = [...]string{"ax", "bx", "cx", "di", "si", "r8", "r9", "r10", "r11"}
