package near

import (
	"math/bits"

	"github.com/ringtap/ringtap/perfevent"
)

// Numbers of arch/x86/include/uapi/asm/perf_regs.h.
const (
	resultRegister = 0 // ax
	bxRegister     = 1
	countRegister  = 2 // cx
	siRegister     = 4
	diRegister     = 5
	stackRegister  = 7
	ipRegister     = 8
	flagsRegister  = 9
	r11Register    = 19

	// allRegisters are those of 64 bit code; ds, es, fs and gs can't be asked for.
	allRegisters = 0xff0fff
)

// A way is how the kernel has a thread go on at a user probe. The registers of the thread are those of
// the way before any other code of the thread runs.
type way uint8

const (
	emulates way = iota // the kernel has carried out the instruction: a push, a call or a jump that is near
	steps               // the thread is about to execute a copy of the instruction
	returns             // the thread is about to leave the page that returns go through since Linux 6.11
	enters              // the same of the page that is called in place of a nop of 5 bytes since Linux 6.18
)

// passage is the way that a thread goes at a user probe.
type passage struct {
	way way
	// scratch is the register in which the copy of an instruction finds the address of the next one; 0
	// means that the copy needs none.
	scratch int
}

// passageOf finds the way of a thread that is sampled at a user probe and is switched away from.
func passageOf(sample, out *perfevent.Registers) passage {
	switch {
	case sample.Mask != allRegisters || out.Mask != allRegisters:
	case stepsOver(sample, out):
		return passage{steps, scratchOf(sample, out)}
	case !leavesPage(out):
	case valueOf(out, stackRegister) == valueOf(sample, stackRegister)-savedByReturn:
		return passage{way: returns}
	case valueOf(out, stackRegister) == valueOf(sample, stackRegister)-savedByEntry:
		return passage{way: enters}
	}
	return passage{way: emulates}
}

const longestInstruction = 15

// changes tells whether a register has another value on the way.
func (p passage) changes(register int, from, to uint64) bool {
	switch p.way {
	case emulates:
		return register == ipRegister && to-from <= longestInstruction || register == stackRegister && to == from-8
	case steps:
		return register == ipRegister || register == flagsRegister && to == from|trapFlag || register == p.scratch && p.scratch != 0
	}
	switch register {
	case ipRegister, stackRegister, countRegister, r11Register: // see leavesPage
		return true
	case resultRegister:
		return p.way == enters && to == 0
	}
	return false
}

// The pages save registers on the stack and make a system call, which ends at callInPage
// (uretprobe_trampoline_entry and uprobe_trampoline_entry in arch/x86/kernel/uprobes.c). The call of the
// second page has left its return address there as well.
const (
	savedByReturn = 24
	savedByEntry  = 32
	callInPage    = 13
)

// leavesPage tells whether a thread is about to leave the system call of such a page.
func leavesPage(r *perfevent.Registers) bool {
	ip := valueOf(r, ipRegister)
	return ip%4096 == callInPage && valueOf(r, countRegister) == ip && valueOf(r, r11Register) == valueOf(r, flagsRegister)
}

const (
	trapFlag = 1 << 8 // the CPU stops after one instruction
	// slotBytes is the size of the places that the kernel has for copies, each at its beginning
	// (UPROBE_XOL_SLOT_BYTES).
	slotBytes = 128
)

// stepsOver tells whether a thread is about to execute a copy of a probed instruction: the kernel has set
// the trap flag. Once the thread has executed it, the thread is past the beginning of the copy's place.
func stepsOver(sample, out *perfevent.Registers) bool {
	return valueOf(sample, flagsRegister)&trapFlag == 0 && valueOf(out, flagsRegister)&trapFlag != 0 &&
		valueOf(out, ipRegister)%slotBytes == 0
}

// shortestRelative is an opcode, a byte that says what its operands are, and an offset of 4 bytes.
const shortestRelative = 6

// scratchOf returns the register that the kernel changed for a copy of an instruction whose operand is
// relative to the instruction pointer. The copy is far away from it, so it has the address of the
// next instruction in a register that it does not use for anything else (riprel_analyze in
// arch/x86/kernel/uprobes.c). The kernel restores the register after the step.
func scratchOf(sample, out *perfevent.Registers) int {
	for _, register := range [...]int{siRegister, diRegister, bxRegister} {
		to := valueOf(out, register)
		if to == valueOf(sample, register) {
			continue
		}
		if n := to - valueOf(sample, ipRegister); n < shortestRelative || n > longestInstruction {
			return 0
		}
		return register
	}
	return 0
}

// valueOf returns a register that is there.
func valueOf(r *perfevent.Registers, register int) uint64 {
	return r.Values[bits.OnesCount64(r.Mask&(1<<register-1))]
}
