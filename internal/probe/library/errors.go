package library

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/text/match"
)

// NotFoundError is returned when there is no command or library with a name.
type NotFoundError struct {
	name string
	near []string // similar names of commands and libraries, nearest first
}

func (e *NotFoundError) Error() string {
	text := shown(e.name) + ": no such command or library; "
	if len(e.near) > 0 {
		return text + match.DidYouMean(e.near)
	}
	return text + "give its path"
}

// AmbiguousError is returned when several files match a name equally well.
type AmbiguousError struct {
	name  string
	paths []string // like Target.Path
}

func (e *AmbiguousError) Error() string {
	var paths []string
	for _, path := range e.paths {
		paths = append(paths, shown(path))
	}
	return fmt.Sprintf("%s is ambiguous: %s; give the whole name or the path", shown(e.name), strings.Join(paths, ", "))
}

// ScriptError is returned when a file is a script.
type ScriptError struct {
	path        string
	Interpreter string // program that runs it, from its first line
}

func (e *ScriptError) Error() string {
	return fmt.Sprintf("%s is a script, run by %s, and has no machine code; give the program that it starts, or %s",
		shown(e.path), shown(e.Interpreter), shown(e.Interpreter))
}

// ProcessError is returned when a process's files can't be read.
type ProcessError struct {
	PID int
	Err error
}

func (e *ProcessError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) || errors.Is(e.Err, unix.ESRCH) {
		return fmt.Sprintf("there is no process %d", e.PID)
	}
	return fmt.Sprintf("cannot see the files of process %d: %v", e.PID, e.Err)
}

func (e *ProcessError) Unwrap() error { return e.Err }

// maxShown bounds how much of a name an error shows, in bytes.
const maxShown = 200

// shown returns a name in a form that is safe for a terminal.
func shown(name string) string {
	cut := ""
	if len(name) > maxShown {
		name, cut = name[:maxShown], "…"
	}
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		name = quoted
	}
	return name + cut
}
