package kprobe

import "fmt"

// perfRegisters are the numbers that perf gives the registers that a kprobe names
// (arch/x86 and arch/arm64, include/uapi/asm/perf_regs.h), nil for another
// architecture. The processor's flags are "flags" where perf has them.
func perfRegisters(arch string) map[string]uint8 {
	switch arch {
	case "amd64":
		return map[string]uint8{
			"ax": 0, "bx": 1, "cx": 2, "dx": 3, "si": 4, "di": 5, "bp": 6, "sp": 7, "ip": 8, "flags": 9, "cs": 10, "ss": 11,
			"r8": 16, "r9": 17, "r10": 18, "r11": 19, "r12": 20, "r13": 21, "r14": 22, "r15": 23,
		}
	case "arm64":
		numbers := map[string]uint8{"sp": 31, "pc": 32}
		for i := range uint8(31) {
			numbers[fmt.Sprint("x", i)] = i
		}
		return numbers
	}
	return nil
}
