package arch

import (
	"debug/elf"
	"strconv"
)

// X are arm64's general registers, x0 to x30. Sources:
//
//   - names: regoffset_table in arch/arm64/kernel/ptrace.c
//   - perf numbers: arch/arm64/include/uapi/asm/perf_regs.h
//   - DWARF numbers: "DWARF for the Arm 64-bit Architecture", 4.1
//   - offsets: struct user_pt_regs in arch/arm64/include/uapi/asm/ptrace.h
var X = numbered()

func numbered() (registers [31]*Register) {
	for i := range registers {
		digits, n := strconv.Itoa(i), uint8(i)
		registers[i] = &Register{"x" + digits, n, n, n, 8 * uint16(n), []Part{{"x" + digits, 64, 0}, {"w" + digits, 32, 0}}}
	}
	registers[29].Parts = append(registers[29].Parts, Part{"fp", 64, 0})
	registers[30].Parts = append(registers[30].Parts, Part{"lr", 64, 0})
	return registers
}

var (
	xLR    = &Register{"lr", None, None, None, 240, nil} // the kernel's second name of x30
	xSP    = &Register{"sp", 31, 31, None, 248, []Part{{"sp", 64, 0}, {"wsp", 32, 0}}}
	xPC    = &Register{"pc", 32, 32, None, 256, nil}
	pstate = &Register{"pstate", None, None, None, 264, nil}
)

// ARM64 is AArch64. Sources:
//
//   - C: Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64), sections 6.1.1 and 6.8.2
//   - Go: section "arm64 architecture" of src/cmd/compile/abi-internal.md in the Go distribution
//   - Syscall: syscall(2)
var ARM64 = &Machine{
	Name: "arm64", ELF: elf.EM_AARCH64, Word: 8,
	Registers: append(X[:len(X):len(X)], xLR, xSP, xPC, pstate),
	PC:        xPC, SP: xSP, FP: X[29], LR: X[30],
	RegisterSet: 34 * 8,
	Syscall:     X[:6], SyscallPrefix: "__arm64_sys_",
	Goroutine: X[28],
	C:         Convention{Arguments: X[:8], Floats: 8, Results: X[:2], Preserved: X[19:30]},
	Go:        Convention{Arguments: X[:16], Floats: 16, Results: X[:16]},
}
