package library

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/names"
)

// NotFoundError says that no command and no library has a name.
type NotFoundError struct {
	Name string
	Near []string // names of commands and libraries that are much like it, nearest first
}

func (e *NotFoundError) Error() string {
	text := shown(e.Name) + ": no such command or library; "
	if len(e.Near) > 0 {
		return text + names.DidYouMean(e.Near)
	}
	return text + "give its path"
}

// AmbiguousError says that several files have a name with equal right.
type AmbiguousError struct {
	Name  string
	Paths []string // as Target.Path
}

func (e *AmbiguousError) Error() string {
	var paths []string
	for _, path := range e.Paths {
		paths = append(paths, shown(path))
	}
	return fmt.Sprintf("%s is ambiguous: %s; give the whole name or the path", shown(e.Name), strings.Join(paths, ", "))
}

// ScriptError says that a file is a script.
type ScriptError struct {
	Path        string
	Interpreter string // the program that runs it, as its first line names it
}

func (e *ScriptError) Error() string {
	return fmt.Sprintf("%s is a script, run by %s, and has no machine code; give the program that it starts, or %s",
		shown(e.Path), shown(e.Interpreter), shown(e.Interpreter))
}

// ProcessError says that a process can't be looked into.
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

// maxShown is how many bytes of a name an error shows.
const maxShown = 200

// shown makes a name fit for a terminal.
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
