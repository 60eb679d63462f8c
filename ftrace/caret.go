package ftrace

import (
	"strings"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// pointWidth is how many bytes of a long text are shown on either side of the caret.
const pointWidth = 60

// point returns text on its own line, with a caret under the byte at pos. There is no caret if
// pos is negative. Of a long text it returns only the part around pos. Non-printable characters
// are escaped, since the text may contain file names, which anyone may have chosen.
func point(text string, pos int) string {
	if pos < 0 {
		return "\n  " + escape.Text(cut(text, 2*pointWidth))
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
	before = escape.Text(before)
	return "\n  " + before + escape.Text(cut(after, pointWidth)) +
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
