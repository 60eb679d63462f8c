package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// escape returns s with everything that is not a visible character or a plain
// space written out: control characters and line breaks as \n, \t or \x1b,
// bytes that are not UTF-8 as \xff, format characters (bidirectional
// overrides, zero-width characters, line separators) as \u202e. What is left
// can't move a cursor, reorder a line or end one.
//
// Backslashes stay as they are, so escape(escape(s)) == escape(s) and names
// that hold one read as they do elsewhere. The result is for showing, not for
// getting the bytes back.
func escape(s string) string {
	if visible(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case strconv.IsPrint(r):
			b.WriteString(s[:n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// visible reports whether escape has nothing to do. Nearly every name is
// ASCII, so that is tested first.
func visible(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' {
			return visibleUTF8(s[i:])
		}
	}
	return true
}

func visibleUTF8(s string) bool {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) {
			return false
		}
		s = s[n:]
	}
	return true
}

// escapeFrame is escape for a name that stands in a list joined by
// semicolons. Rust's array types hold "; ": the semicolon becomes a colon, as
// every folded file of a Rust program has it.
func escapeFrame(s string) string {
	return strings.ReplaceAll(escape(s), ";", ":")
}
