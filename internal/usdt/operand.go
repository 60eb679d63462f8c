package usdt

import (
	"debug/elf"
	"strconv"
	"strings"
)

// operand is where an argument is.
type operand struct {
	kind     kind
	register string // as the kernel calls it
	value    int64  // of an immediate; else bytes from the register or symbol
	symbol   string
}

type kind int

const (
	immediate kind = iota
	register
	highByte // the second byte of a register (%ah)
	memory   // at register + value
	global   // at symbol + value
)

// parseOperand reads an operand as the assembler of a machine writes it. The
// reason says why it can't be fetched; it is "" if it can.
func parseOperand(text string, machine elf.Machine) (o operand, reason string) {
	switch machine {
	case elf.EM_X86_64, elf.EM_386:
		return parseX86(text)
	case elf.EM_AARCH64:
		return parseARM64(text)
	}
	return o, "the operands of " + machine.String() + " are not known"
}

const (
	unknownOperand  = "not an operand that is known"
	unknownRegister = "not a register that the kernel can fetch"
	indexed         = "the kernel can't fetch memory at an index that is in a register"
	threadLocal     = "the kernel can't fetch what is at an offset from a segment register, as thread-local storage is"
)

// number reads a number as assemblers write it.
func number(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, true
	}
	n, err := strconv.ParseUint(text, 0, 64)
	return int64(n), err == nil
}

// distance splits "symbol", "8+symbol", "symbol+8-4" and "8" into a symbol, ""
// if there is none, and the sum of the numbers.
func distance(text string) (symbol string, sum int64, ok bool) {
	for text != "" {
		end := len(text)
		if i := strings.IndexAny(text[1:], "+-"); i >= 0 {
			end = i + 1
		}
		term := strings.TrimPrefix(text[:end], "+")
		text = text[end:]
		if n, isNumber := number(term); isNumber {
			sum += n
			continue
		}
		if symbol != "" || !isSymbol(term) {
			return "", 0, false
		}
		symbol = term
	}
	return symbol, sum, true
}

// isSymbol tells whether a term is the name of a variable. One with a suffix as
// in x@GOTPCREL is not: what is there is the address of the variable.
func isSymbol(term string) bool {
	for i := range len(term) {
		switch c := term[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '.', c == '$', c >= 0x80:
		case c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return term != ""
}
