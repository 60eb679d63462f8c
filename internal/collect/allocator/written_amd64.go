package allocator

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/internal/arch"
)

// written returns 1 + perf's number of the register in which a function leaves the address that it
// has written through a pointer: see Function.Written. It returns 0 unless the code is as simple as
// glibc's posix_memalign: exactly one store through a pointer, and no change of the stored register
// until the return.
func written(code []byte) (register uint8) {
	for at := 0; at < len(code); {
		inst, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			return 0
		}
		at += inst.Len
		stored, ok := stores(&inst)
		switch {
		case !ok:
			continue
		case register != 0 || !stays(code[at:], stored):
			return 0
		}
		register = 1 + arch.AMD64.ByCode(stored).Perf
	}
	return register
}

// stores returns the register that inst stores, if it stores 8 bytes through another register that
// is not the stack pointer.
func stores(inst *x86asm.Inst) (register int, ok bool) {
	if inst.Op != x86asm.MOV {
		return 0, false
	}
	to, isMemory := inst.Args[0].(x86asm.Mem)
	from, isRegister := inst.Args[1].(x86asm.Reg)
	if !isMemory || !isRegister || from < x86asm.RAX || from > x86asm.R15 ||
		to.Segment != 0 || to.Base == 0 || to.Base == x86asm.RIP || to.Base == x86asm.RSP {
		return 0, false
	}
	return int(from - x86asm.RAX), true
}

// stays reports whether code reaches its return without a jump and without changing register.
func stays(code []byte, register int) bool {
	for at := 0; at < len(code); {
		inst, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			return false
		}
		at += inst.Len
		switch inst.Op {
		case x86asm.RET:
			return true
		case x86asm.MOV, x86asm.XOR, x86asm.POP, x86asm.ADD, x86asm.LEA, x86asm.NOP:
		default:
			return false
		}
		if to, ok := inst.Args[0].(x86asm.Reg); ok && number(to) == register {
			return false
		}
	}
	return false
}

// number returns the number of a register of 32 or 64 bits, or -1 for others.
func number(r x86asm.Reg) int {
	switch {
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX)
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX)
	}
	return -1
}
