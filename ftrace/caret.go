package ftrace

import "strings"

// point shows text on a line of its own and a caret under the byte at pos.
func point(text string, pos int) string {
	return "\n  " + text + "\n  " + strings.Repeat(" ", max(pos, 0)) + "^"
}
