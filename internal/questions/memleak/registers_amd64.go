package memleak

// Registers by perf's numbers (arch/x86/include/uapi/asm/perf_regs.h): of the first
// arguments and of the result of a call by the System V ABI.
var argumentRegisters = [...]uint{5, 4, 3, 2} // di, si, dx, cx

const resultRegister = 0 // ax
