package perfevent

// ipRegister is the instruction pointer in a set of user registers
// (PERF_REG_X86_IP).
const ipRegister = 1 << 8

// lockedInstruction cannot be probed: lock nop.
var lockedInstruction = []byte{0xf0, 0x90}

// firstArgument is the register of a function's first argument, as tracefs
// names it.
const firstArgument = "%di"

// argumentRegister is the same in a set of user registers (PERF_REG_X86_DI).
const argumentRegister = 1 << 5
