package usdt

import (
	"strings"

	"github.com/ringtap/ringtap/internal/arch"
)

// parseX86 parses an operand in AT&T syntax: $5, %edi, 16(%rsp), counter+8(%rip).
func parseX86(text string, m *arch.Machine) (o operand, reason string) {
	if value, ok := strings.CutPrefix(text, "$"); ok {
		o.value, ok = number(value)
		if !ok {
			return o, "an address that is known when the program runs only"
		}
		return o, ""
	}
	if strings.HasPrefix(text, "%") && strings.Contains(text, ":") {
		return o, threadLocal
	}
	if name, ok := strings.CutPrefix(text, "%"); ok {
		var shift uint8
		if o.register, shift, ok = general(m, name); !ok {
			return o, unknownRegister
		}
		o.kind = register
		if shift > 0 {
			o.kind = highByte
		}
		return o, ""
	}
	before, inside, brackets := strings.Cut(text, "(")
	symbol, value, ok := distance(before)
	if !ok {
		return o, unknownOperand
	}
	o.symbol, o.value = symbol, value
	if !brackets {
		if symbol == "" {
			return o, unknownOperand
		}
		o.kind = global
		return o, ""
	}
	inside, ok = strings.CutSuffix(inside, ")")
	if !ok {
		return o, unknownOperand
	}
	if strings.Contains(inside, ",") {
		return o, indexed
	}
	return o.at(inside, m)
}

// at completes a memory operand with the register in its brackets.
func (o operand) at(base string, m *arch.Machine) (operand, string) {
	name, ok := strings.CutPrefix(strings.TrimSpace(base), "%")
	switch {
	case !ok:
		return o, unknownOperand
	case name == "rip" && o.symbol != "":
		o.kind = global
		return o, ""
	case name == "rip" || o.symbol != "":
		return o, unknownOperand
	}
	o.kind = memory
	var shift uint8
	if o.register, shift, ok = general(m, name); !ok || shift > 0 {
		return o, unknownRegister
	}
	return o, ""
}
