package helper

import (
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

const instructionBytes = 4

// probeEffect says how the kernel's handling of a user probe changes a thread's registers. On
// arm64 the kernel emulates the probed instruction, or single-steps a copy of it. Only emulation
// can be told from the registers. After a single step the reading counts as Near, not Exact.
type probeEffect struct{}

// probeEffectOf returns the effect of the probe that caused sample on the registers at the
// switch away from the thread.
func probeEffectOf(sample, switchOut *perfevent.Registers) probeEffect { return probeEffect{} }

// explains reports whether emulation of the probed instruction explains that a register, given
// by its number in the kernel's perf_regs.h, changed from one value to another.
func (probeEffect) explains(register uint8, from, to uint64) bool {
	return register == arch.ARM64.PC.Perf && to == from+instructionBytes
}
