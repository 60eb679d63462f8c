package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// Error is an error at a position in a program.
type Error struct {
	Pos
	Len  int    // length of the wrong text in bytes; 0 for the word at Pos
	Msg  string // one sentence
	Hint string // what would work instead, or ""
	Err  error  // the host's error that Msg describes; nil if the program is at fault
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Error returns the position and the message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", fileName(e.File), e.Line, e.Col, escape.Text(e.Msg))
}

func fileName(file string) string {
	if file == "" {
		return "stdin" // as bpftrace says
	}
	return escape.Text(file)
}

// Errors lists what is wrong with a program.
type Errors struct {
	List    []*Error // in the order in which they were found
	Sources []Source // to print the lines that are wrong
}

// Error returns all messages in bpftrace's form: the position, the line, and a mark under the wrong
// columns.
func (e *Errors) Error() string {
	var s strings.Builder
	for _, err := range e.List {
		s.WriteString(err.format(sourceLine(e.Sources, err.Pos)))
	}
	return strings.TrimSuffix(s.String(), "\n")
}

// Unwrap returns the list.
func (e *Errors) Unwrap() []error {
	list := make([]error, len(e.List))
	for i, err := range e.List {
		list[i] = err
	}
	return list
}

// sourceLine returns the line of pos without its line end, or "" if no source has it.
func sourceLine(sources []Source, pos Pos) string {
	for _, s := range sources {
		if s.name != pos.File {
			continue
		}
		text := s.Text
		for line := 1; line < pos.Line; line++ {
			_, rest, ok := strings.Cut(text, "\n")
			if !ok {
				return ""
			}
			text = rest
		}
		line, _, _ := strings.Cut(text, "\n")
		return strings.TrimSuffix(line, "\r")
	}
	return ""
}

// Place returns a position for messages, with the columns of the word or the single-line call that
// starts there: stdin:1:9-20.
func Place(sources []Source, pos Pos) string {
	line := sourceLine(sources, pos)
	length := 1
	if start := pos.Col - 1; start >= 0 && start < len(line) {
		length = callLength(line[start:])
	}
	return fmt.Sprintf("%s:%d:%d-%d", fileName(pos.File), pos.Line, pos.Col, pos.Col+length)
}

// callLength returns the length in bytes of the word at the start of line, including arguments in
// parentheses.
func callLength(line string) int {
	_, word := measure(line)
	l := newLexer("", line)
	if l.next().kind != kindName || !strings.HasPrefix(line[l.off:], "(") {
		return max(word, 1)
	}
	for depth := 0; ; {
		switch t := l.next(); {
		case t.kind == kindEnd || t.kind == kindBad:
			return max(word, 1)
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				return t.off + t.length
			}
		}
	}
}

// The most columns of a line that are printed, and of its part before the mark.
const (
	shownWidth  = 160
	shownBefore = 60
)

// format returns the message and its line.
func (e *Error) format(line string) string {
	start := min(max(e.Col-1, 0), len(line))
	length := e.Len
	if length == 0 && start < len(line) {
		_, length = measure(line[start:])
	}
	length = min(max(length, 1), max(len(line)-start, 1))
	var s strings.Builder
	fmt.Fprintf(&s, "%s:%d:%d-%d: ERROR: %s\n", fileName(e.File), e.Line, e.Col, e.Col+length, escape.Text(e.Msg))
	if line != "" {
		before, columns := expand(line[:start])
		marked, marks := expand(line[start:min(start+length, len(line))])
		after, _ := expand(line[min(start+length, len(line)):])
		if columns > shownBefore && columns+len(marked)+len(after) > shownWidth {
			before, columns = "…"+lastRunes(before, shownBefore), shownBefore+1
		}
		marks = min(max(marks, 1), shownWidth)
		shown := []rune(before + marked + after)
		if len(shown) > shownWidth+shownBefore {
			shown = append(shown[:shownWidth+shownBefore], '…')
		}
		fmt.Fprintf(&s, "%s\n%s%s\n", string(shown), strings.Repeat(" ", columns), strings.Repeat("~", marks))
	}
	if e.Hint != "" {
		s.WriteString("HINT: " + escape.Text(e.Hint) + "\n")
	}
	return s.String()
}

// expand returns a text as it is printed, with four spaces for a tab, and its width in columns.
func expand(text string) (string, int) {
	text = escape.Text(strings.ReplaceAll(text, "\t", "    "))
	return text, utf8.RuneCountInString(text)
}

func lastRunes(s string, n int) string {
	runes := []rune(s)
	return string(runes[max(len(runes)-n, 0):])
}

// shorten cuts s to about n bytes.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
