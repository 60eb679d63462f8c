package helper

import (
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

// probeMechanism is the way in which the kernel executes a probed instruction, which the probe
// has overwritten (arch/x86/kernel/uprobes.c). ringtap recognizes the mechanism by the thread's
// registers right after the probe, before the thread runs any other code.
type probeMechanism uint8

const (
	// emulated: the kernel has executed the instruction, such as a push or a relative call or jump.
	emulated probeMechanism = iota
	// singleStepped: the thread is about to execute a copy of the instruction, with the trap flag set.
	singleStepped
	// returnTrampoline: the thread is about to leave the page that uretprobes return through, since
	// Linux 6.11.
	returnTrampoline
	// entryTrampoline: the thread is about to leave the page that is called in place of a 5-byte nop,
	// since Linux 6.18.
	entryTrampoline
)

// probeEffect says how the kernel's handling of a user probe changes a thread's registers.
type probeEffect struct {
	mechanism probeMechanism
	// scratch is the register that holds the next instruction's address while the thread
	// executes the copy; nil if the copy needs none.
	scratch *arch.Register
}

// probeEffectOf returns the effect of a user probe. sample has the thread's registers at the
// probe. switchOut has its registers when the kernel switches away from the thread.
func probeEffectOf(sample, switchOut *perfevent.Registers) probeEffect {
	switch {
	case sample.Mask != Registers || switchOut.Mask != Registers:
	case startsStep(sample, switchOut):
		return probeEffect{singleStepped, scratchRegister(sample, switchOut)}
	case !leavesTrampoline(switchOut):
	case registerValue(switchOut, arch.RSP) == registerValue(sample, arch.RSP)-returnTrampolineStack:
		return probeEffect{mechanism: returnTrampoline}
	case registerValue(switchOut, arch.RSP) == registerValue(sample, arch.RSP)-entryTrampolineStack:
		return probeEffect{mechanism: entryTrampoline}
	}
	return probeEffect{mechanism: emulated}
}

const maxInstruction = 15 // bytes

// explains reports whether the kernel's handling of the probe explains that a register, given by
// its number in the kernel's perf_regs.h, changed from one value to another.
func (p probeEffect) explains(register uint8, from, to uint64) bool {
	switch p.mechanism {
	case emulated:
		return register == arch.RIP.Perf && to-from <= maxInstruction || register == arch.RSP.Perf && to == from-8
	case singleStepped:
		return register == arch.RIP.Perf || register == arch.RFLAGS.Perf && to == from|trapFlag ||
			p.scratch != nil && register == p.scratch.Perf
	}
	switch register {
	case arch.RIP.Perf, arch.RSP.Perf, arch.RCX.Perf, arch.R11.Perf:
		return true // probeEffectOf and leavesTrampoline have checked the values
	case arch.RAX.Perf:
		return p.mechanism == entryTrampoline && to == 0
	}
	return false
}

// The trampolines push registers and make a system call (uretprobe_trampoline_entry and
// uprobe_trampoline_entry). The call to the entry trampoline has pushed its return address too.
const (
	returnTrampolineStack = 24 // bytes that are pushed before the system call
	entryTrampolineStack  = 32
	trampolineReturn      = 13 // offset in the page of the instruction after the system call
)

// leavesTrampoline reports whether a thread is about to return from a trampoline's system call.
// The CPU has saved RIP in RCX and RFLAGS in R11.
func leavesTrampoline(r *perfevent.Registers) bool {
	ip := registerValue(r, arch.RIP)
	return ip%4096 == trampolineReturn && registerValue(r, arch.RCX) == ip && registerValue(r, arch.R11) == registerValue(r, arch.RFLAGS)
}

const (
	trapFlag = 1 << 8 // RFLAGS.TF: the CPU traps after one instruction
	// slotBytes is the size of the slots that hold copies of probed instructions. A copy is at
	// the start of its slot (UPROBE_XOL_SLOT_BYTES).
	slotBytes = 128
)

// startsStep reports whether a thread is about to execute the copy of a probed instruction. After
// the step the instruction pointer is past the start of the slot.
func startsStep(sample, switchOut *perfevent.Registers) bool {
	return registerValue(sample, arch.RFLAGS)&trapFlag == 0 && registerValue(switchOut, arch.RFLAGS)&trapFlag != 0 &&
		registerValue(switchOut, arch.RIP)%slotBytes == 0
}

// minRIPRelative is the length of the shortest instruction with a RIP-relative operand: opcode,
// ModRM byte, and a 4-byte displacement.
const minRIPRelative = 6

// scratchRegister returns the register that the kernel has changed for the copy of an
// instruction with a RIP-relative operand; nil if there is none.
//
// The copy is too far away for a RIP-relative operand. So the kernel puts the next instruction's
// address into a register that the instruction does not use, and makes the operand relative to
// that (riprel_analyze). The kernel restores the register after the step.
func scratchRegister(sample, switchOut *perfevent.Registers) *arch.Register {
	for _, register := range [...]*arch.Register{arch.RSI, arch.RDI, arch.RBX} {
		to := registerValue(switchOut, register)
		if to == registerValue(sample, register) {
			continue
		}
		if n := to - registerValue(sample, arch.RIP); n < minRIPRelative || n > maxInstruction {
			return nil
		}
		return register
	}
	return nil
}

// registerValue returns the value of a register that is in r.Mask.
func registerValue(r *perfevent.Registers, register *arch.Register) uint64 {
	value, _ := r.Value(int(register.Perf))
	return value
}
