package read

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/internal/profile"
)

// ErrPerfData is returned for a file that perf record wrote. It has samples, not a profile.
var ErrPerfData = errors.New("it is a recording of perf (perf.data)")

// An UnknownError is returned for a file of none of the forms.
type UnknownError struct {
	Start []byte // of the file or, in a text, of the line that says most; empty for an empty file
}

func (e *UnknownError) Error() string {
	const forms = "ringtap reads perf.data, folded stacks, pprof, perf script's text and its own JSON"
	if len(e.Start) == 0 {
		return "it is empty; " + forms
	}
	return fmt.Sprintf("it starts with %q; %s", e.Start, forms)
}

// unknown returns an UnknownError with as much of text as fits in a message.
func unknown(text []byte) error {
	return &UnknownError{bytes.Clone(text[:min(len(text), 40)])}
}

// A LineError is an error in a line of a text.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// Profile reads a profile in one of the forms of the package comment, which it recognizes by the
// content. name is the file's name for messages, and for processes without one. The error has
// ErrPerfData for a recording, *UnknownError for a file of no form, and *LineError for a bad line.
// The indexes of the result are valid.
func Profile(name string, r io.Reader) (*profile.Profile, error) {
	p, err := recognize(name, bufio.NewReaderSize(r, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return p, nil
}

func recognize(name string, in *bufio.Reader) (*profile.Profile, error) {
	start, err := in.Peek(64)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case startsPerfData(start):
		return nil, ErrPerfData
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		return readCompressed(name, in)
	case startsPprof(start):
		return readPprof(name, in)
	case startsJSON(start):
		return readJSON(in)
	}
	return readText(in)
}

// startsPerfData reports whether a file has the magic number of perf.data in either byte order, and
// after it a number of 64 bits that is small. A process may have the magic number as its name.
func startsPerfData(start []byte) bool {
	isMagic := bytes.HasPrefix(start, []byte("PERFILE2")) || bytes.HasPrefix(start, []byte("2ELIFREP"))
	return isMagic && bytes.IndexByte(start, 0) >= 0
}

// startsJSON reports whether a text starts like an object in JSON.
func startsJSON(start []byte) bool {
	const space = " \t\r\n"
	inside, isObject := bytes.CutPrefix(bytes.TrimLeft(start, space), []byte("{"))
	inside = bytes.TrimLeft(inside, space)
	return isObject && (len(inside) == 0 || inside[0] == '"' || inside[0] == '}')
}
