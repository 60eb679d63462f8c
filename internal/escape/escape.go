// Package escape makes text of targets (names of processes, functions and files,
// strings that they hold) fit to be shown: what a program calls itself must not
// move a cursor, end a line or reorder one.
package escape

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Text returns s with everything that is not a visible character or a plain
// space written out: control characters and line breaks as \n, \t or \x1b,
// bytes that are not UTF-8 as \xff, format characters (bidirectional
// overrides, zero-width characters, line separators) as \u202e. What is left
// can't move a cursor, reorder a line or end one.
//
// Backslashes stay as they are, so Text(Text(s)) == Text(s) and names
// that hold one read as they do elsewhere. The result is for showing, not for
// getting the bytes back.
func Text(s string) string {
	if isVisible(s) {
		return s
	}
	return string(Append(nil, []byte(s)))
}

// Append appends Text of text to dst. It allocates only to make dst larger.
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

// isVisible reports whether Text has nothing to do. Nearly every name is
// ASCII, so that is tested first.
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
