package pair

const (
	stackPointer = 31 // PERF_REG_ARM64_SP
	// returnPops is by how much the stack pointer is higher after a return than
	// at the entry: nothing, the return address is in a register.
	returnPops = 0
	goroutine  = 28 // PERF_REG_ARM64_X28
)

// GoroutineRegister is the register that holds g in compiled Go code (Go's
// internal ABI specification), as the kernel's probes name it.
const GoroutineRegister = "%x28"
