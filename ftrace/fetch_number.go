package ftrace

import (
	"math"
	"strings"
)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// kernelUint parses a whole number like the kernel's kstrtoull; base 0 accepts the prefixes 0x
// and 0. One plus sign is allowed.
func kernelUint(s string, base uint64) (uint64, bool) {
	s = strings.TrimPrefix(s, "+")
	value, rest, overflow := scanDigits(s, base)
	return value, len(rest) < len(s) && rest == "" && !overflow
}

// kernelInt parses a whole number like the kernel's kstrtoll, with base 0.
func kernelInt(s string) (int64, bool) {
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		if strings.HasPrefix(rest, "+") {
			return 0, false
		}
		value, ok := kernelUint(rest, 0)
		return -int64(value), ok && int64(-value) <= 0
	}
	value, ok := kernelUint(s, 0)
	return int64(value), ok && value <= math.MaxInt64
}

// scanUint parses the number at the start of s like the kernel's simple_strtoul; it returns 0
// if there is none.
func scanUint(s string) (value uint64, rest string) {
	value, rest, overflow := scanDigits(s, 0)
	if overflow {
		value = math.MaxUint64
	}
	return value, rest
}

func scanDigits(s string, base uint64) (value uint64, rest string, overflow bool) {
	if base == 0 {
		base = 10
		if strings.HasPrefix(s, "0") {
			base = 8
		}
		if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' && digit(s[2]) < 16 {
			base, s = 16, s[2:]
		}
	}
	for s != "" && digit(s[0]) < base {
		d := digit(s[0])
		if value > (math.MaxUint64-d)/base {
			overflow = true
		}
		value = value*base + d
		s = s[1:]
	}
	return value, s, overflow
}

// digit returns the value of a hexadecimal digit, or a value above any base.
func digit(c byte) uint64 {
	switch {
	case isDigit(c):
		return uint64(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return math.MaxUint64
}
