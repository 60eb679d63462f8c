package usertext

import (
	"slices"
	"strconv"
	"strings"
)

// Numbers of arch/x86/include/uapi/asm/perf_regs.h.
const (
	returnRegister = 0
	stackPointer   = 7
)

// registers returns the number of a register that the kernel's probes call so.
func registers(name string) (number int, ok bool) {
	first := []string{"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip"}
	if n := slices.Index(first, name); n >= 0 {
		return n, true
	}
	digits, ok := strings.CutPrefix(name, "r")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 8 || n > 15 {
		return 0, false
	}
	return 16 + n - 8, true
}
