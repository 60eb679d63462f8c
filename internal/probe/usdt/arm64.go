package usdt

import (
	"strings"

	"github.com/ringtap/ringtap/internal/arch"
)

// parseARM64 parses an operand as gcc and clang write it for AArch64: 5, x0, [sp, 16], [x19,
// #-8].
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
	var ok bool
	if o.register, _, ok = general(arch.ARM64, text); !ok {
		return o, unknownRegister
	}
	o.kind = register
	return o, ""
}

// arm64Memory parses the text inside the brackets.
func arm64Memory(inside string) (o operand, reason string) {
	base, offset, has := strings.Cut(inside, ",")
	base = strings.TrimSpace(base)
	o.kind = memory
	var ok bool
	if o.register, _, ok = general(arch.ARM64, base); !ok || base[0] == 'w' {
		return o, unknownOperand
	}
	if !has {
		return o, ""
	}
	offset = strings.TrimPrefix(strings.TrimSpace(offset), "#")
	if o.value, ok = number(offset); ok {
		return o, ""
	}
	index, _, _ := strings.Cut(offset, ",")
	if _, _, ok := general(arch.ARM64, strings.TrimSpace(index)); ok {
		return o, indexed
	}
	return o, unknownOperand
}
