package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/escape"
)

// Error is something wrong at a place of a program.
type Error struct {
	Pos
	Len  int    // bytes of the text that it is about; 0 stands for the word at Pos
	Msg  string // one sentence
	Hint string // what would work instead, "" if nothing is known
	Err  error  // the host's error that Msg describes; nil if the program is at fault
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Error returns the place and the message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", fileName(e.File), e.Line, e.Col, escape.Text(e.Msg))
}

func fileName(file string) string {
	if file == "" {
		return "stdin" // as bpftrace says
	}
	return escape.Text(file)
}

// Errors is what is wrong with a program.
type Errors struct {
	List    []*Error // in the order in which they were found
	Sources []Source // for the lines that the messages show
}

// Error returns all messages as bpftrace shows them: the place, the line and a mark under the
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

// sourceLine returns the line of pos without its end, "" if no source has it.
func sourceLine(sources []Source, pos Pos) string {
	for _, s := range sources {
		if s.Name != pos.File {
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

// Place returns how messages name a place of a program, with the columns of the word there, or of the
// call that begins there if one line has it: stdin:1:9-20.
func Place(sources []Source, pos Pos) string {
	line := sourceLine(sources, pos)
	length := 1
	if start := pos.Col - 1; start >= 0 && start < len(line) {
		length = callLength(line[start:])
	}
	return fmt.Sprintf("%s:%d:%d-%d", fileName(pos.File), pos.Line, pos.Col, pos.Col+length)
}

// callLength returns how many bytes the word at the start of a line has, with its arguments in
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

// Columns of a line that is shown, and of those before the mark.
const (
	shownWidth  = 160
	shownBefore = 60
)

// format returns the message with its line.
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

// expand returns a text as it is shown, with four blanks for a tab, and how many columns it
// takes.
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
