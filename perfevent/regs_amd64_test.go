package perfevent

// ipRegister is the instruction pointer in a set of user registers
// (PERF_REG_X86_IP).
const ipRegister = 1 << 8
