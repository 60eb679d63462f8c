package goroutine

import (
	"errors"
	"fmt"
)

// ErrNotGo is returned when no file mapped by a process is a Go program.
var ErrNotGo = errors.New("no Go program")

// UnknownError is returned when the goroutines of a Go program can't be read.
type UnknownError struct {
	path    string // the program or library
	version string // of Go, "" if unknown
	Why     string
}

func (e *UnknownError) Error() string {
	version := e.version
	if version == "" {
		version = "an unknown Go"
	}
	return fmt.Sprintf("goroutines of %s (%s): %s", e.path, version, e.Why)
}
