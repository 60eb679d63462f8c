package read

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/internal/profile"
)

// maxLine is the longest line of a text, in bytes.
const maxLine = 1 << 20

var errLineTooLong = fmt.Errorf("it is longer than %d bytes", maxLine)

// lineReader is a form that consists of lines.
type lineReader interface {
	// line reads a line without its end. The text is valid until it returns.
	line(text []byte) error
	// finish returns the profile after the last line.
	finish() (*profile.Profile, error)
}

// readText reads folded stacks or the text of perf script. The first line that is no comment says
// which. Comments are the header of perf script.
func readText(in io.Reader) (*profile.Profile, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine+len("\n"))
	var form lineReader
	var h header
	n := 0
	for lines.Scan() {
		n++
		text := lines.Bytes()
		if n == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if isComment(text) {
			h.line(text)
			continue
		}
		if form == nil {
			if len(bytes.TrimSpace(text)) == 0 {
				continue
			}
			if form = formOf(text); form == nil {
				return nil, unknown(text)
			}
		}
		if err := form.line(text); err != nil {
			return nil, &LineError{n, err}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &LineError{n + 1, errLineTooLong}
	case err != nil:
		return nil, err
	case form == nil:
		return nil, unknown([]byte(h.first))
	}
	p, err := form.finish()
	if err != nil {
		return nil, err
	}
	p.Host, p.Command = h.host, h.command
	return p, nil
}

// formOf returns the reader of a text with that first line, or nil. The head of a sample is tried
// first, because a tracepoint's fields may end in a number.
func formOf(text []byte) lineReader {
	if _, ok := parseHead(text); ok {
		return newScript()
	}
	if _, _, ok := cutValue(text); ok {
		return newFolded()
	}
	return nil
}

// isComment reports whether a line is one of perf script's header. A process's name may start with
// the character too.
func isComment(text []byte) bool {
	return len(text) > 0 && text[0] == '#' && (len(text) == 1 || text[1] == ' ')
}

// header is the part of the comments before perf script's text that a profile has.
type header struct {
	first         string // first line
	host, command string
}

func (h *header) line(text []byte) {
	if h.first == "" {
		h.first = string(text[:min(len(text), 80)])
	}
	key, value, _ := bytes.Cut(text, []byte(" : "))
	switch string(bytes.TrimSpace(bytes.TrimPrefix(key, []byte("#")))) {
	case "hostname":
		h.host = string(bytes.TrimSpace(value))
	case "cmdline":
		h.command = string(bytes.TrimSpace(value))
	}
}
