package usdt

import "strings"

// parseX86 reads an operand in AT&T syntax: $5, %edi, 16(%rsp), counter+8(%rip).
func parseX86(text string) (o operand, reason string) {
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
		o.kind = register
		if o.register, ok = x86Registers[name]; ok {
			return o, ""
		}
		if o.register, ok = x86HighBytes[name]; ok {
			o.kind = highByte
			return o, ""
		}
		return o, unknownRegister
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
	return o.at(inside)
}

// at completes a memory operand with the register in its brackets.
func (o operand) at(base string) (operand, string) {
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
	if o.register, ok = x86Registers[name]; !ok {
		return o, unknownRegister
	}
	return o, ""
}

// x86Registers are the kernel's names (arch/x86/kernel/ptrace.c, regoffset_table)
// of general registers, by all names that the assembler has for them. The
// argument's size says how many of their bytes count.
var x86Registers = map[string]string{
	"rax": "ax", "eax": "ax", "ax": "ax", "al": "ax",
	"rbx": "bx", "ebx": "bx", "bx": "bx", "bl": "bx",
	"rcx": "cx", "ecx": "cx", "cx": "cx", "cl": "cx",
	"rdx": "dx", "edx": "dx", "dx": "dx", "dl": "dx",
	"rsi": "si", "esi": "si", "si": "si", "sil": "si",
	"rdi": "di", "edi": "di", "di": "di", "dil": "di",
	"rbp": "bp", "ebp": "bp", "bp": "bp", "bpl": "bp",
	"rsp": "sp", "esp": "sp", "sp": "sp", "spl": "sp",
	"r8": "r8", "r8d": "r8", "r8w": "r8", "r8b": "r8",
	"r9": "r9", "r9d": "r9", "r9w": "r9", "r9b": "r9",
	"r10": "r10", "r10d": "r10", "r10w": "r10", "r10b": "r10",
	"r11": "r11", "r11d": "r11", "r11w": "r11", "r11b": "r11",
	"r12": "r12", "r12d": "r12", "r12w": "r12", "r12b": "r12",
	"r13": "r13", "r13d": "r13", "r13w": "r13", "r13b": "r13",
	"r14": "r14", "r14d": "r14", "r14w": "r14", "r14b": "r14",
	"r15": "r15", "r15d": "r15", "r15w": "r15", "r15b": "r15",
}

var x86HighBytes = map[string]string{"ah": "ax", "bh": "bx", "ch": "cx", "dh": "dx"}
