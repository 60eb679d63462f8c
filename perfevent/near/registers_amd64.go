package near

import (
	"math/bits"

	"github.com/ringtap/ringtap/perfevent"
)

// Numbers of arch/x86/include/uapi/asm/perf_regs.h.
const (
	resultRegister = 0 // ax
	stackRegister  = 7
	ipRegister     = 8
	flagsRegister  = 9

	// allRegisters are those of 64 bit code; ds, es, fs and gs can't be asked for.
	allRegisters = 0xff0fff
)

const (
	longestInstruction = 15
	trapFlag           = 1 << 8 // the CPU stops after one instruction
)

// changesAtProbe tells whether the kernel may have changed a register of a thread at a user
// probe before any other code of the thread ran: past the instruction, which it emulated (a
// push, a call or a jump that is near), or at a copy of it that is to be stepped over.
func changesAtProbe(register int, from, to uint64) bool {
	switch register {
	case ipRegister:
		return to-from <= longestInstruction
	case stackRegister:
		return to == from-8
	case flagsRegister:
		return from|trapFlag == to
	}
	return false
}

// stepsOver tells whether the thread is about to execute a copy of a probed instruction: the
// kernel has set the trap flag.
func stepsOver(from, to *perfevent.Registers) bool {
	if from.Mask>>flagsRegister&1 == 0 {
		return false
	}
	return flags(from)&trapFlag == 0 && flags(to)&trapFlag != 0
}

func flags(r *perfevent.Registers) uint64 {
	return r.Values[bits.OnesCount64(r.Mask&(1<<flagsRegister-1))]
}
