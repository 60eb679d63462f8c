package syscalltext

// stackPointer is the stack pointer's number in a mask of registers
// (arch/x86/include/uapi/asm/perf_regs.h, PERF_REG_X86_SP).
const stackPointer = 7

// The function of a system call is called with its registers (struct pt_regs of
// arch/x86/include/asm/ptrace.h), whose address is in argument.
const (
	callPrefix = "__x64_sys_"
	argument   = "%di"
)

// argumentAt is where the parameters are in the registers, bytes.
var argumentAt = [6]int{112, 104, 96, 56, 72, 64} // di si dx r10 r8 r9
