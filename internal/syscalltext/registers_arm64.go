package syscalltext

// stackPointer is the stack pointer's number in a mask of registers
// (arch/arm64/include/uapi/asm/perf_regs.h, PERF_REG_ARM64_SP).
const stackPointer = 31

// The function of a system call is called with its registers (struct pt_regs of
// arch/arm64/include/asm/ptrace.h), whose address is in argument.
const (
	callPrefix = "__arm64_sys_"
	argument   = "%x0"
)

// argumentAt is where the parameters are in the registers, bytes.
var argumentAt = [6]int{0, 8, 16, 24, 32, 40} // x0 to x5
