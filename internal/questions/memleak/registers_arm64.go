package memleak

// Registers by perf's numbers (arch/arm64/include/uapi/asm/perf_regs.h): of the first
// arguments and of the result of a call (AAPCS64).
var argumentRegisters = [...]uint{0, 1, 2, 3}

const resultRegister = 0
