package allocator

import "golang.org/x/arch/x86/x86asm"

// written returns in which register a function leaves what it has written through a
// pointer: see Function.Written. 0 is none, or code that is not as simple as that of
// glibc's posix_memalign, which ends with the one store of a register by another, and nothing changes the register from there to its return.
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
		register = 1 + perfRegisters[stored]
	}
	return register
}

// perfRegisters are perf's numbers (arch/x86/include/uapi/asm/perf_regs.h) of the
// registers in the order of instructions.
var perfRegisters = [...]uint8{0, 2, 3, 1, 7, 6, 4, 5, 16, 17, 18, 19, 20, 21, 22, 23}

// stores returns the register that an instruction writes as 8 bytes to where another one
// points, but the stack pointer.
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

// stays tells whether code comes to its return without a jump, and without a change of
// a register.
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

// number is that of a register of 32 or 64 bits; -1 of others.
func number(r x86asm.Reg) int {
	switch {
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX)
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX)
	}
	return -1
}
