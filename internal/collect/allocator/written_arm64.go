package allocator

import (
	"encoding/binary"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/ringtap/ringtap/internal/arch"
)

// written returns 1 + perf's number of the register in which a function leaves the address that it
// has written through a pointer: see Function.Written. It returns 0 unless the code is as simple as
// glibc's posix_memalign: exactly one store through a pointer, and no change of the stored register
// until the return.
func written(code []byte) (register uint8) {
	for ; len(code) >= 4; code = code[4:] {
		stored, ok := stores(binary.LittleEndian.Uint32(code))
		switch {
		case !ok:
			continue
		case register != 0 || !stays(code[4:], stored):
			return 0
		}
		register = 1 + arch.X[stored].Perf
	}
	return register
}

// stores returns the register that an instruction stores, if it stores 8 bytes through another
// register that is not the stack pointer: STR Xt, [Xn] (Arm Architecture Reference Manual, C6.2).
func stores(word uint32) (register uint32, ok bool) {
	const str, sp = 0xf9000000, 31
	return word & 31, word&^0x3ff == str && word>>5&31 != sp && word&31 != 31
}

// stays reports whether code reaches its return without a jump and without changing register.
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
