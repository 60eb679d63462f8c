package usertext

import (
	"strconv"
	"strings"
)

// Numbers of arch/arm64/include/uapi/asm/perf_regs.h.
const (
	returnRegister = 0
	stackPointer   = 31
)

// registers returns the number of a register that the kernel's probes call so.
func registers(name string) (number int, ok bool) {
	switch name {
	case "sp":
		return stackPointer, true
	case "pc":
		return stackPointer + 1, true
	}
	digits, ok := strings.CutPrefix(name, "x")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0 && n <= 30
}
