package ftrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// DefinitionError is returned when the kernel rejects the definition of an event.
type DefinitionError struct {
	Command string // the line written to the kernel
	Pos     int    // the byte in Command that the kernel complains about; -1 if unknown
	Message string // the kernel's message, or the meaning of the errno
	Err     error  // the errno of the write
}

// Error returns the message and, below it, the command with a caret under the byte at Pos.
func (e *DefinitionError) Error() string { return e.Message + point(e.Command, e.Pos) }

// Unwrap returns the errno of the write.
func (e *DefinitionError) Unwrap() error { return e.Err }

// define sends the kernel a definition. If the kernel rejects it, define finds the reason in
// the kernel's error log. The log has only the last eight errors of all programs; if others
// have pushed ours out, it sends the definition again.
func (t *FS) define(file, line string) error {
	const tries = 4
	for try := 1; ; try++ {
		err := t.appendLine(file, line)
		if err == nil {
			return nil
		}
		var errno unix.Errno
		if !errors.As(err, &errno) || errno == unix.EMFILE || errno == unix.ENFILE {
			return fmt.Errorf("define event %q: %w", line, err)
		}
		text, logErr := os.ReadFile(filepath.Join(t.dir, "error_log"))
		if entry, ok := findError(string(text), line); ok {
			return &DefinitionError{Command: line, Pos: entry.pos, Message: entry.message, Err: errno}
		}
		if logErr != nil || try == tries {
			return &DefinitionError{Command: line, Pos: -1, Message: refusal(errno), Err: errno}
		}
	}
}

// refusal returns the meaning of the errno of a rejected definition. It is used if the kernel's
// log has no message; the log exists since Linux 5.2.
func refusal(errno unix.Errno) string {
	meaning := map[unix.Errno]string{
		unix.EINVAL:        "there is a mistake in it, or this kernel lacks something it needs",
		unix.EILSEQ:        "no instruction begins there",
		unix.ENOENT:        "there is no such file, function or variable",
		unix.EADDRNOTAVAIL: "several functions have that name",
		unix.EEXIST:        "there is another event of that name",
		unix.EPERM:         "not allowed; is the kernel locked down (lockdown=confidentiality)?",
		unix.EACCES:        "not allowed: it takes root",
		unix.ENODEV:        "there are no numbers left for more events",
		unix.ENOSPC:        "there is no room for more arguments",
		unix.E2BIG:         "it is too long",
		unix.ENOMEM:        "there is no memory left",
	}[errno]
	if meaning == "" {
		return fmt.Sprintf("The kernel rejected the definition: %v", errno)
	}
	return fmt.Sprintf("The kernel rejected the definition: %s (%v)", meaning, errno)
}

// loggedError is an entry of the file error_log (Documentation/trace/ftrace.rst).
type loggedError struct {
	message string
	pos     int // byte offset in the command
}

// findError finds the latest entry about the command in the text of error_log. An entry looks
// like this:
//
//	[   73.7] trace_uprobe: error: Invalid register name
//	  Command: p:g/e /bin/true:0x10 %dix
//	                                ^
func findError(log, command string) (loggedError, bool) {
	const prefix = "  Command: "
	entry := "\n" + prefix + command + "\n"
	for end := len(log); ; {
		at := strings.LastIndex(log[:end], entry)
		if at < 0 {
			return loggedError{}, false
		}
		end = at
		head := log[strings.LastIndexByte(log[:at], '\n')+1 : at]
		_, message, ok := strings.Cut(head, ": error: ")
		caret, _, _ := strings.Cut(log[at+len(entry):], "\n")
		pad, isCaret := strings.CutSuffix(caret, "^")
		if !ok || !isCaret || strings.Trim(pad, " ") != "" || len(pad) < len(prefix) {
			continue
		}
		return loggedError{message: message, pos: min(len(pad)-len(prefix), len(command))}, true
	}
}
