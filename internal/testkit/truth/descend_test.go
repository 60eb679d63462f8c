package truth

import (
	"debug/elf"
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// descendFrame returns the bytes of stack that one level of the recursion
// takes, read from its code: what it pushes and subtracts, and its return
// address.
func descendFrame(path string) (uint64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return 0, fmt.Errorf("stack use is read from amd64 code only, not %v", f.Machine)
	}
	symbols, err := f.Symbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name != "descend" {
			continue
		}
		section := f.Sections[s.Section]
		code := make([]byte, s.Size)
		if _, err := section.ReadAt(code, int64(s.Value-section.Addr)); err != nil {
			return 0, err
		}
		return stackOf(code)
	}
	return 0, fmt.Errorf("%s has no function descend", path)
}

// stackOf adds up the stack that code takes before its first call.
func stackOf(code []byte) (uint64, error) {
	used := uint64(8)
	for len(code) > 0 {
		in, err := x86asm.Decode(code, 64)
		if err != nil {
			return 0, err
		}
		switch size, isImmediate := in.Args[1].(x86asm.Imm); {
		case in.Op == x86asm.PUSH:
			used += 8
		case in.Op == x86asm.SUB && in.Args[0] == x86asm.RSP && isImmediate:
			used += uint64(size)
		case in.Op == x86asm.ADD && in.Args[0] == x86asm.RSP && isImmediate: // gcc's sub of 128, in a byte less
			used -= uint64(size)
		case in.Op == x86asm.CALL:
			return used, nil
		}
		code = code[in.Len:]
	}
	return used, nil
}
