package allocator

import (
	"encoding/binary"

	"golang.org/x/arch/arm64/arm64asm"
)

// written returns in which register a function leaves what it has written through a
// pointer: see Function.Written. 0 is none, or code that is not as simple as that of
// glibc's posix_memalign, which ends with the one store of a register by another, and
// nothing changes the register from there to its return.
func written(code []byte) (register uint8) {
	for ; len(code) >= 4; code = code[4:] {
		stored, ok := stores(binary.LittleEndian.Uint32(code))
		switch {
		case !ok:
			continue
		case register != 0 || !stays(code[4:], stored):
			return 0
		}
		register = 1 + uint8(stored) // perf's numbers are the instructions' (arch/arm64/include/uapi/asm/perf_regs.h)
	}
	return register
}

// stores returns the register that an instruction writes as 8 bytes to where another one
// points, but the stack pointer: STR Xt, [Xn] (Arm Architecture Reference Manual, C6.2).
func stores(word uint32) (register uint32, ok bool) {
	const str, sp = 0xf9000000, 31
	return word & 31, word&^0x3ff == str && word>>5&31 != sp && word&31 != 31
}

// stays tells whether code comes to its return without a jump, and without a change of
// a register.
func stays(code []byte, register uint32) bool {
	for ; len(code) >= 4; code = code[4:] {
		inst, err := arm64asm.Decode(code)
		if err != nil {
			return false
		}
		changed := inst.Args[:1]
		switch inst.Op {
		case arm64asm.RET:
			return true
		case arm64asm.LDP:
			changed = inst.Args[:2]
		case arm64asm.MOV, arm64asm.LDR, arm64asm.ADD, arm64asm.NOP:
		default:
			return false
		}
		for _, arg := range changed {
			if r, ok := arg.(arm64asm.Reg); ok && (r == arm64asm.X0+arm64asm.Reg(register) || r == arm64asm.W0+arm64asm.Reg(register)) {
				return false
			}
		}
	}
	return false
}
