package perfevent

// ipRegister is the place of the instruction pointer among the copied
// registers.
const ipRegister = 32
