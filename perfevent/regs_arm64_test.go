package perfevent

// ipRegister is the program counter in a set of user registers
// (PERF_REG_ARM64_PC).
const ipRegister = 1 << 32

// lockedInstruction cannot be probed: ldxr x0, [x0], which a trap would break.
var lockedInstruction = []byte{0x00, 0x7c, 0x5f, 0xc8}

// firstArgument is the register of a function's first argument, as tracefs
// names it.
const firstArgument = "%x0"

// argumentRegister is the same in a set of user registers (PERF_REG_ARM64_X0).
const argumentRegister = 1 << 0
