package ftrace

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// appendEscaped appends text of a target so that it cannot disturb a terminal:
// control characters and what is no UTF-8 become \n, \t or \xNN. Text that can
// be printed is not changed, backslashes included, so that it equals the
// kernel's; what is escaped can't be told from text that looks so.
func appendEscaped(dst, text []byte) []byte {
	for len(text) > 0 {
		// Runs of plain text are the rule.
		n := 0
		for n < len(text) && ' ' <= text[n] && text[n] < 0x7f {
			n++
		}
		dst = append(dst, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			break
		}
		r, size := utf8.DecodeRune(text)
		if r >= 0xa0 && !isDirection(r) && (r != utf8.RuneError || size > 1) {
			dst = append(dst, text[:size]...)
		} else {
			for _, c := range text[:size] {
				dst = appendEscape(dst, c)
			}
		}
		text = text[size:]
	}
	return dst
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(dst, `\n`...)
	case '\t':
		return append(dst, `\t`...)
	case '\r':
		return append(dst, `\r`...)
	}
	return append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
}

// isDirection tells whether r changes the order or the lines in which a
// terminal shows the text around it.
func isDirection(r rune) bool {
	switch {
	case 0x200e <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069, r == 0x061c, r == 0xfeff:
		return true
	}
	return false
}

// appendHex appends bytes in hexadecimal, with separator between them if it
// isn't 0.
func appendHex(dst, b []byte, separator byte) []byte {
	for i, c := range b {
		if i > 0 && separator != 0 {
			dst = append(dst, separator)
		}
		dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
	}
	return dst
}
