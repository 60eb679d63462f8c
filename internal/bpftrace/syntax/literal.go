package syntax

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

var (
	errRange  = errors.New("the number does not fit in 64 bits")
	errNumber = errors.New("a number is decimal, octal (017), hexadecimal (0x1f), or like 1e6, 1_000, 10ms")
)

// duration returns the length of a unit of time in nanoseconds.
func duration(unit string) (nanoseconds uint64, ok bool) {
	switch unit {
	case "ns":
		return 1, true
	case "us":
		return 1e3, true
	case "ms":
		return 1e6, true
	case "s":
		return 1e9, true
	case "m":
		return 60e9, true
	case "h":
		return 3600e9, true
	case "d":
		return 86400e9, true
	}
	return 0, false
}

// parseNumber returns the value of an integer literal.
func parseNumber(text string) (uint64, error) {
	if strings.HasSuffix(text, "_") || strings.Contains(text, "_x") {
		return 0, errNumber
	}
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		return parseDigits(strings.TrimRight(text[2:], "uUlL"), 16)
	}
	n := 0
	for n < len(text) && (isDigit(text[n]) || text[n] == '_') {
		n++
	}
	digits, suffix := text[:n], text[n:]
	base := 10
	if len(digits) > 1 && digits[0] == '0' {
		base = 8
	}
	if suffix != "" && suffix[0]|0x20 == 'e' {
		base = 10
	}
	value, err := parseDigits(digits, base)
	if err != nil {
		return 0, err
	}
	if suffix != "" && suffix[0]|0x20 == 'e' {
		n := 1
		for n < len(suffix) && (isDigit(suffix[n]) || suffix[n] == '_') {
			n++
		}
		power, err := parseDigits(suffix[1:n], 10)
		if err != nil {
			return 0, err
		}
		for ; power > 0 && value != 0; power-- {
			if value, err = multiply(value, 10); err != nil {
				return 0, err
			}
		}
		suffix = suffix[n:]
	}
	if unit, ok := duration(suffix); ok {
		return multiply(value, unit)
	}
	switch strings.ToLower(suffix) {
	case "", "u", "l", "ul", "lu", "ll", "ull", "llu":
		return value, nil
	}
	return 0, fmt.Errorf("no number ends in %q: %w", suffix, errNumber)
}

func parseDigits(digits string, base int) (uint64, error) {
	value, err := strconv.ParseUint(strings.ReplaceAll(digits, "_", ""), base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errRange
	case err != nil:
		return 0, errNumber
	}
	return value, nil
}

func multiply(a, b uint64) (uint64, error) {
	high, low := bits.Mul64(a, b)
	if high != 0 {
		return 0, errRange
	}
	return low, nil
}

// unquote returns the value of a quoted string or character. If err is not nil, offset and length
// are the wrong part of text.
func unquote(text string) (value string, offset, length int, err error) {
	body := text[1 : len(text)-1]
	if strings.IndexByte(body, '\\') < 0 {
		return body, 0, 0, nil
	}
	var s strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			s.WriteByte(body[i])
			continue
		}
		start := i
		i++
		switch c := body[i]; {
		case strings.IndexByte(escapes, c) >= 0:
			s.WriteByte(escaped[strings.IndexByte(escapes, c)])
		case '0' <= c && c <= '7':
			n := i
			for n < len(body) && n < i+3 && '0' <= body[n] && body[n] <= '7' {
				n++
			}
			v, _ := strconv.ParseUint(body[i:n], 8, 16) // three octal digits
			if v > 0xff {
				return "", start + 1, n - start, errors.New("an octal escape goes to \\377")
			}
			s.WriteByte(byte(v))
			i = n - 1
		case c|0x20 == 'x':
			n := i + 1
			for n < len(body) && n < i+3 && strings.IndexByte("0123456789abcdefABCDEF", body[n]) >= 0 {
				n++
			}
			v, err := strconv.ParseUint(body[i+1:n], 16, 8)
			if err != nil {
				return "", start + 1, 2, errors.New("\\x needs hexadecimal digits")
			}
			s.WriteByte(byte(v))
			i = n - 1
		default:
			return "", start + 1, 2, fmt.Errorf(`there is no escape \%c; \\ is a backslash`, c)
		}
	}
	return s.String(), 0, 0, nil
}

const (
	escapes = `ntr"'\abfv`
	escaped = "\n\t\r\"'\\\a\b\f\v"
)
