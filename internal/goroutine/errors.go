package goroutine

import (
	"errors"
	"fmt"
)

// ErrNotGo says that nothing that a process has mapped is a Go program.
var ErrNotGo = errors.New("no Go program")

// UnknownError says that the goroutines of a Go program can't be read, and why.
type UnknownError struct {
	Path    string // the program or library
	Version string // of Go, "" if not known
	Why     string
}

func (e *UnknownError) Error() string {
	version := e.Version
	if version == "" {
		version = "an unknown Go"
	}
	return fmt.Sprintf("goroutines of %s (%s): %s", e.Path, version, e.Why)
}
