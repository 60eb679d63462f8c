package near

import "github.com/ringtap/ringtap/perfevent"

// Numbers of arch/arm64/include/uapi/asm/perf_regs.h.
const (
	resultRegister = 0 // x0
	ipRegister     = 32

	// allRegisters are x0 to x30, sp and pc.
	allRegisters = 1<<33 - 1
)

const instruction = 4

// changesAtProbe tells whether the kernel may have changed a register of a thread at a user
// probe before any other code of the thread ran: past the instruction, which it emulated.
func changesAtProbe(register int, from, to uint64, _ *perfevent.Registers) bool {
	return register == ipRegister && to == from+instruction
}

// stepsOver: the registers do not show it here, so that a reading at an instruction that is
// stepped over is Near.
func stepsOver(_, _ *perfevent.Registers) bool { return false }
