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

// passage is the way that a thread goes at a user probe. The registers do not show a step here, so that
// a reading at an instruction that is stepped over is Near.
type passage struct{}

func passageOf(_, _ *perfevent.Registers) passage { return passage{} }

// changes tells whether a register has another value where the kernel has carried out the probed
// instruction, before any other code of the thread ran.
func (passage) changes(register int, from, to uint64) bool {
	return register == ipRegister && to == from+instruction
}
