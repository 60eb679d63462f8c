package pair

const (
	stackPointer = 7 // PERF_REG_X86_SP
	// returnPops is by how much the stack pointer is higher after a return than
	// at the entry: the return address.
	returnPops = 8
	goroutine  = 22 // PERF_REG_X86_R14
)

// GoroutineRegister is the register that holds g in compiled Go code (Go's
// internal ABI specification), as the kernel's probes name it.
const GoroutineRegister = "%r14"
