// Package escape makes text from targets safe to display: names of processes, functions and
// files, and strings in their memory. Such text must not move the cursor, end a line or reorder
// one.
//
//	fmt.Println(escape.Text(name))
package escape

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Text returns s with every character escaped that is not visible or a plain space:
//
//   - control characters and line breaks as \n, \t or \x1b;
//   - bytes that are not UTF-8 as \xff;
//   - format characters (bidirectional overrides, zero-width characters, line separators) as
//     \u202e.
//
// Backslashes are not escaped, so Text(Text(s)) == Text(s), and names with a backslash look the
// same everywhere. The result is for display; the original bytes cannot be recovered.
func Text(s string) string {
	if isVisible(s) {
		return s
	}
	return string(Append(nil, []byte(s)))
}

// Append appends the result of Text to dst. It allocates only to grow dst.
func Append(dst, text []byte) []byte {
	for len(text) > 0 {
		if c := text[0]; ' ' <= c && c <= '~' {
			dst, text = append(dst, c), text[1:]
			continue
		}
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			dst = fmt.Appendf(dst, `\x%02x`, text[0])
		case strconv.IsPrint(r):
			dst = append(dst, text[:n]...)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r < 0x80:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case r <= 0xffff:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		}
		text = text[n:]
	}
	return dst
}

// isVisible reports whether Text would return s unchanged. It tests for ASCII first, since
// nearly all names are.
func isVisible(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' {
			return isVisibleUTF8(s[i:])
		}
	}
	return true
}

func isVisibleUTF8(s string) bool {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) {
			return false
		}
		s = s[n:]
	}
	return true
}
