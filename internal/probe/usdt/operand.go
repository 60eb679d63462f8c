package usdt

import (
	"debug/elf"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/arch"
)

// operand is the place of an argument.
type operand struct {
	kind     kind
	register string // the kernel's name
	value    int64  // of an immediate; otherwise bytes from the register or symbol
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

// parseOperand parses an operand in a machine's assembler syntax. reason says why the operand
// can't be fetched, or is "".
func parseOperand(text string, machine elf.Machine) (o operand, reason string) {
	switch m := arch.OfELF(machine); m {
	case arch.AMD64, arch.I386:
		return parseX86(text, m)
	case arch.ARM64:
		return parseARM64(text)
	}
	return o, "the operands of " + machine.String() + " are not known"
}

// general returns the kernel's name of the general register or stack pointer that m's assembler
// calls name. shift is how many bits the named part is above the register's lower end. How many
// bytes count depends on the argument's size.
func general(m *arch.Machine, name string) (register string, shift uint8, ok bool) {
	r, part, ok := m.Part(name)
	if !ok || r.Code == arch.None && r != m.SP {
		return "", 0, false
	}
	return r.Name, part.Shift, true
}

const (
	unknownOperand  = "not an operand that is known"
	unknownRegister = "not a register that the kernel can fetch"
	indexed         = "the kernel can't fetch memory at an index that is in a register"
	threadLocal     = "the kernel can't fetch what is at an offset from a segment register, as thread-local storage is"
)

// number parses a number in assembler syntax.
func number(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, true
	}
	n, err := strconv.ParseUint(text, 0, 64)
	return int64(n), err == nil
}

// distance splits "symbol", "8+symbol", "symbol+8-4" or "8" into a symbol, or "", and the sum
// of the numbers.
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

// isSymbol reports whether a term is the name of a variable. A name with a suffix, as in
// x@GOTPCREL, is not: that place holds the variable's address.
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
