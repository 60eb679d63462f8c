package near

import (
	"math/bits"

	"github.com/ringtap/ringtap/perfevent"
)

// Numbers of arch/x86/include/uapi/asm/perf_regs.h.
const (
	resultRegister = 0 // ax
	countRegister  = 2 // cx
	stackRegister  = 7
	ipRegister     = 8
	flagsRegister  = 9
	r11Register    = 19

	// allRegisters are those of 64 bit code; ds, es, fs and gs can't be asked for.
	allRegisters = 0xff0fff
)

const (
	longestInstruction = 15
	trapFlag           = 1 << 8 // the CPU stops after one instruction
)

// changesAtProbe tells whether the kernel may have changed a register of a thread at a user
// probe before any other code of the thread ran, whose registers are out then: past the
// instruction, which it emulated (a push, a call or a jump that is near), at a copy of it that is
// to be stepped over, or, at a return, in the page that returns go through since Linux 6.11.
func changesAtProbe(register int, from, to uint64, out *perfevent.Registers) bool {
	switch register {
	case ipRegister:
		return to-from <= longestInstruction || returnsThroughPage(out)
	case stackRegister:
		return to == from-8 || to == from-savedByPage && returnsThroughPage(out)
	case countRegister, r11Register:
		return returnsThroughPage(out)
	case flagsRegister:
		return from|trapFlag == to
	}
	return false
}

// The page that returns go through saves three registers on the stack and makes a system call,
// which ends at this offset (uretprobe_trampoline_entry in arch/x86/kernel/uprobes.c).
const (
	savedByPage = 24
	callInPage  = 13
)

// returnsThroughPage tells whether a thread is about to leave that system call.
func returnsThroughPage(r *perfevent.Registers) bool {
	if r.Mask != allRegisters {
		return false
	}
	ip := valueOf(r, ipRegister)
	return ip%4096 == callInPage && valueOf(r, countRegister) == ip && valueOf(r, r11Register) == valueOf(r, flagsRegister)
}

// stepsOver tells whether the thread is about to execute a copy of a probed instruction: the
// kernel has set the trap flag.
func stepsOver(from, to *perfevent.Registers) bool {
	if from.Mask>>flagsRegister&1 == 0 {
		return false
	}
	return valueOf(from, flagsRegister)&trapFlag == 0 && valueOf(to, flagsRegister)&trapFlag != 0
}

// valueOf returns a register that is there.
func valueOf(r *perfevent.Registers, register int) uint64 {
	return r.Values[bits.OnesCount64(r.Mask&(1<<register-1))]
}
