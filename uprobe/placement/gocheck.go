package placement

import (
	"debug/elf"
	"encoding/binary"
)

// goStackCheck returns the length of the check of the stack's size at the start of a Go
// function (stacksplit in cmd/internal/obj/x86 and cmd/internal/obj/arm64; since Go's register
// ABI), or 0 if there is none. The check compares the stack pointer with a limit of the
// goroutine. If it is too low, it branches to code at the function's end. That calls
// runtime.morestack, which moves the stack or lets another goroutine run, and jumps back to the
// first instruction.
func (f *Function) goStackCheck() int {
	length, grow := 0, 0
	switch f.Machine {
	case elf.EM_AARCH64:
		length, grow = f.goCheckAArch64()
	case elf.EM_X86_64:
		length, grow = f.goCheckX86()
	}
	if length == 0 || !f.growsAndRestarts(grow) {
		return 0
	}
	return length
}

// growsAndRestarts reports whether the code at offset runs straight through one call of another
// function and then jumps to the first instruction.
func (f *Function) growsAndRestarts(offset int) bool {
	const longest = 64 // enough to store and reload every argument register
	called := false
	for range longest {
		if offset <= 0 || offset >= len(f.Code) {
			return false
		}
		in, ok := f.at(offset)
		if !ok {
			return false
		}
		inside := in.target >= 0 && in.target < len(f.Code)
		switch {
		case in.flow == flowJump:
			return called && in.target == 0
		case in.flow != flowNext, in.direct && (called || inside):
			return false
		case in.direct:
			called = true
		}
		offset += in.length
	}
	return false
}

// goCheckX86 recognizes three forms, for small, large and huge frames:
//
//	cmp 0x10(%r14),%rsp; jbe grow
//	lea -N(%rsp),%r12; cmp 0x10(%r14),%r12; jbe grow
//	mov %rsp,%r12; sub $N,%r12; jb grow; cmp 0x10(%r14),%r12; jbe grow
func (f *Function) goCheckX86() (length, grow int) {
	i := 0
	has := func(want ...byte) bool {
		if len(f.Code) < i+len(want) || string(f.Code[i:i+len(want)]) != string(want) {
			return false
		}
		i += len(want)
		return true
	}
	branch := func(short byte) (target int, ok bool) {
		if i >= len(f.Code) {
			return 0, false
		}
		in, ok := decodeX86(f.Code[i:], 64)
		if !ok || in.opMap > 1 || in.opcode != short+in.opMap*0x10 {
			return 0, false
		}
		i += in.length
		return i + int(in.imm), true
	}
	const below, belowOrEqual = 0x72, 0x76
	cmp := byte(0x4d) // with %r12
	first := -1
	switch {
	case has(0x4c, 0x8d, 0x64, 0x24):
		i++
	case has(0x4c, 0x8d, 0xa4, 0x24):
		i += 4
	case has(0x49, 0x89, 0xe4, 0x49, 0x81, 0xec):
		i += 4
		var ok bool
		if first, ok = branch(below); !ok {
			return 0, 0
		}
	default:
		cmp = 0x49 // with %rsp
	}
	// The limit of Go code, or of the system stack.
	if !has(cmp, 0x3b, 0x66, 0x10) && !has(cmp, 0x3b, 0x66, 0x18) {
		return 0, 0
	}
	grow, ok := branch(belowOrEqual)
	if !ok || first >= 0 && first != grow {
		return 0, 0
	}
	return i, grow
}

// goCheckAArch64 recognizes a load of the limit into x16, arithmetic that writes only x17 and
// x27, and branches to one place. There is a branch at the end, and possibly one before it if
// the subtraction underflows:
//
//	ldr x16, [x28,#16]; cmp sp, x16; b.ls grow
//	ldr x16, [x28,#16]; sub x17, sp, #N; cmp x17, x16; b.ls grow
//	ldr x16, [x28,#16]; mov x27, #N; subs x17, sp, x27; b.cc grow; cmp x17, x16; b.ls grow
func (f *Function) goCheckAArch64() (length, grow int) {
	const longest = 10
	if len(f.Code) < 4 {
		return 0, 0
	}
	if w := binary.LittleEndian.Uint32(f.Code); w != 0xf9400b90 && w != 0xf9400f90 {
		return 0, 0
	}
	grow = -1
	for i := 4; i < longest*4 && i+4 <= len(f.Code); i += 4 {
		w := binary.LittleEndian.Uint32(f.Code[i:])
		isArithmetic := w>>26&7 == 4 || w>>25&7 == 5
		switch result := w & 31; {
		case w>>24 == 0x54 && (result == 3 || result == 9): // b.cc, b.ls
			in, _ := f.at(i)
			if grow >= 0 && in.target != grow {
				return 0, 0
			}
			grow = in.target
			if result == 9 {
				return i + 4, grow
			}
		case !isArithmetic || result != 17 && result != 27 && w&0xff20001f != 0xeb20001f && w != 0xeb10023f:
			return 0, 0
		}
	}
	return 0, 0
}
