package ftrace

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pointWidth is how much of a long text is shown on either side of the caret.
const pointWidth = 60

// point shows text on a line of its own and a caret under the byte at pos; no
// caret if pos is negative. Of a long text it shows the part around pos. What
// is not printable is escaped: the text may name files, and files are named by
// anyone.
func point(text string, pos int) string {
	if pos < 0 {
		return "\n  " + show(cut(text, 2*pointWidth))
	}
	pos = min(pos, len(text))
	for n := 0; n < utf8.UTFMax && 0 < pos && pos < len(text) && !utf8.RuneStart(text[pos]); n++ {
		pos--
	}
	before, after := text[:pos], text[pos:]
	if start := len(before) - pointWidth; start > 0 {
		for start < len(before) && !utf8.RuneStart(before[start]) {
			start++
		}
		before = "…" + before[start:]
	}
	before = show(before)
	return "\n  " + before + show(cut(after, pointWidth)) +
		"\n  " + strings.Repeat(" ", utf8.RuneCountInString(before)) + "^"
}

// cut shortens text to about n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// show escapes what would disturb a terminal.
func show(text string) string {
	var b strings.Builder
	for i, r := range text {
		size := 1
		if r != utf8.RuneError {
			size = utf8.RuneLen(r)
		}
		if r != utf8.RuneError && unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(text[i : i+size]) {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}
