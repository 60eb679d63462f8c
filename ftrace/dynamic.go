package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Dynamic is the definition of one event of a Group
// (Documentation/trace/uprobetracer.rst, "Synopsis of uprobe_tracer",
// kprobetrace.rst and eprobetrace.rst).
type Dynamic struct {
	Type  byte   // 'p', 'r' for a return probe, or 'e' for an event probe
	Event string // the event's name, a C identifier of at most 63 characters: see EventIdentifier
	// Place is where the probe goes. User probe: "PATH:0xOFF", or "PATH:0xOFF(0xREFCTR)" with
	// the semaphore of a USDT probe; see Spellable for PATH. Kernel probe:
	// "[MODULE:]FUNCTION[+OFF]" or "0xADDRESS". Event probe: the event, "SYSTEM.NAME"; its
	// arguments use the event's fields: "+8($skbaddr)".
	Place string
	Args  string // the fetch arguments, separated by spaces; "" for none
	// MaxActive is how many calls a kernel return probe can follow at the same time, up to
	// MaxActiveLimit. More calls are missed (see Group.Missed). If it is 0, the kernel chooses
	// twice the number of possible CPUs, or ten. Each takes some hundred bytes.
	MaxActive int
}

// MaxActiveLimit is the highest MaxActive that the kernel accepts (kernel/trace/trace_kprobe.c,
// KRETPROBE_MAXACTIVE_MAX).
const MaxActiveLimit = 4096

// maxLine is the maximum length of a line that the kernel reads, in bytes without the newline
// (kernel/trace/trace.c, WRITE_BUFSIZE).
const maxLine = 4094

// line returns the definition as the kernel reads it and writes it to its error log: words
// separated by single spaces.
func (d Dynamic) line(group string) string {
	words := append([]string{d.head() + group + "/" + d.Event, d.Place}, strings.FieldsFunc(d.Args, isSeparator)...)
	return strings.Join(words, " ")
}

// head returns the start of the line: "p:", "r:" or "r1000:".
func (d Dynamic) head() string {
	if d.MaxActive != 0 {
		return string(d.Type) + strconv.Itoa(d.MaxActive) + ":"
	}
	return string(d.Type) + ":"
}

// isSeparator reports whether r is white space in a definition. The kernel works on bytes,
// where 0xa0 is a space, too; Spellable checks for that.
func isSeparator(r rune) bool { return r == ' ' || '\t' <= r && r <= '\r' }

// Spellable reports whether the kernel reads s as one word of a definition. The kernel splits
// lines at white space, including the byte 0xa0 (half of à in UTF-8). It treats # as the start
// of a comment, and has no quoting. If the path of a file is not spellable, use another path,
// for instance /proc/PID/fd/N of an open file.
func Spellable(s string) bool { return s != "" && unspellable(s) < 0 }

// unspellable returns the index of the first byte that cannot be in a word of a definition, or
// -1.
func unspellable(s string) int {
	for i := range len(s) {
		if isForbidden(s[i]) || isSeparator(rune(s[i])) {
			return i
		}
	}
	return -1
}

// isForbidden reports whether c cannot be anywhere in a definition.
func isForbidden(c byte) bool { return c == 0 || c == '#' || c == 0xa0 }

// check returns an error if the kernel would read the line as a different command.
func (d Dynamic) check(file, group string) error {
	line := d.line(group)
	fail := func(pos int, message string) error {
		return &DefinitionError{Command: line, Pos: pos, Message: message, Err: unix.EINVAL}
	}
	head := len(d.head())
	place := head + len(group) + len(d.Event) + len("/ ")
	switch {
	case file == eventProbes && d.Type != 'e':
		return fail(0, "An event probe is of type e")
	case file != eventProbes && d.Type != 'p' && d.Type != 'r':
		return fail(0, "A probe is of type p or r")
	case d.MaxActive != 0 && (d.Type != 'r' || d.MaxActive < 0 || d.MaxActive > MaxActiveLimit):
		return fail(1, fmt.Sprintf("A return probe follows 1 to %d calls at a time", MaxActiveLimit))
	case !isIdentifier(d.Event):
		return fail(head+len(group)+len("/"), "An event's name must follow the rules of C identifiers")
	case d.Place == "":
		return fail(len(line), "A probe needs a place")
	case !Spellable(d.Place):
		return fail(place+unspellable(d.Place), "The kernel can't read a place with this character")
	case len(line) > maxLine:
		return fail(maxLine, fmt.Sprintf("The definition has %d characters, the kernel reads %d", len(line), maxLine))
	}
	for i := range len(d.Args) {
		if c := d.Args[i]; isForbidden(c) {
			at := strings.IndexByte(line[place+len(d.Place):], c)
			return fail(place+len(d.Place)+at, "The kernel can't read an argument with this character")
		}
	}
	return nil
}

// isIdentifier reports whether s is a C identifier, as names of groups, events and arguments
// must be (kernel/trace/trace_probe.h, is_good_name).
func isIdentifier(s string) bool {
	return isName(s) && !strings.Contains(s, "-") && (s[0] < '0' || s[0] > '9')
}

// appendLine sends the kernel one command. The file must never be opened with O_TRUNC: that
// removes the events of all programs.
func (t *FS) appendLine(file, line string) error {
	f, err := os.OpenFile(filepath.Join(t.dir, file), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// removeEvent removes the event. An event that does not exist is no error. The kernel releases
// an event a moment after its last perf event was closed; until then it returns EBUSY.
// removeEvent retries until patience has passed.
func (t *FS) removeEvent(file, group, event string, patience time.Duration) error {
	end := time.Now().Add(patience)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := t.appendLine(file, "-:"+group+"/"+event)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist) && t.Has(file):
			return nil
		case !errors.Is(err, unix.EBUSY) || time.Now().After(end):
			return fmt.Errorf("remove event %s/%s: %w", group, event, err)
		}
		time.Sleep(wait)
	}
}
