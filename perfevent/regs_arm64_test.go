package perfevent

// ipRegister is the program counter in a set of user registers
// (PERF_REG_ARM64_PC).
const ipRegister = 1 << 32
