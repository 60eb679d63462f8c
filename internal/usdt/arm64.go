package usdt

import (
	"strconv"
	"strings"
)

// parseARM64 reads an operand as gcc and clang write it for AArch64: 5, x0,
// [sp, 16], [x19, #-8].
func parseARM64(text string) (o operand, reason string) {
	if value, ok := number(strings.TrimPrefix(text, "#")); ok {
		return operand{kind: immediate, value: value}, ""
	}
	if inside, ok := strings.CutPrefix(text, "["); ok {
		inside, ok = strings.CutSuffix(inside, "]")
		if !ok {
			return o, unknownOperand
		}
		return arm64Memory(inside)
	}
	if text == "xzr" || text == "wzr" {
		return operand{kind: immediate}, ""
	}
	if o.register = arm64Register(text); o.register == "" {
		return o, unknownRegister
	}
	o.kind = register
	return o, ""
}

// arm64Memory reads what is in the brackets.
func arm64Memory(inside string) (o operand, reason string) {
	base, offset, has := strings.Cut(inside, ",")
	base = strings.TrimSpace(base)
	o.kind, o.register = memory, arm64Register(base)
	if o.register == "" || base[0] == 'w' {
		return o, unknownOperand
	}
	if !has {
		return o, ""
	}
	offset = strings.TrimPrefix(strings.TrimSpace(offset), "#")
	var ok bool
	if o.value, ok = number(offset); ok {
		return o, ""
	}
	if name, _, _ := strings.Cut(offset, ","); arm64Register(strings.TrimSpace(name)) != "" {
		return o, indexed
	}
	return o, unknownOperand
}

// arm64Register returns the kernel's name (arch/arm64/kernel/ptrace.c,
// regoffset_table) of a general register, "" if it is none.
func arm64Register(name string) string {
	switch name {
	case "sp", "wsp":
		return "sp"
	case "fp":
		return "x29"
	case "lr":
		return "x30"
	}
	if len(name) < 2 || name[0] != 'x' && name[0] != 'w' || name[1] == '0' && len(name) > 2 {
		return ""
	}
	n, err := strconv.ParseUint(name[1:], 10, 8)
	if err != nil || n > 30 {
		return ""
	}
	return "x" + name[1:]
}
