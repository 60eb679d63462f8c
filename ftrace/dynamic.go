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
	Event string // its name, a C identifier of at most 63 characters: see EventIdentifier
	// Place is where the probe goes: "PATH:0xOFF", or "PATH:0xOFF(0xREFCTR)"
	// with the semaphore of a USDT probe; see Spellable for PATH. In the kernel it
	// is "[MODULE:]FUNCTION[+OFF]" or "0xADDRESS". An event probe's is the event,
	// "SYSTEM.NAME", and its arguments begin with the event's fields: "+8($skbaddr)".
	Place string
	Args  string // the fetch arguments, separated by spaces; "" for none
	// MaxActive is how many calls at a time a return probe of the kernel follows
	// till they return, up to MaxActiveLimit; those beyond are missed (see
	// Group.Missed). 0 leaves it to the kernel, which takes twice as many as
	// there can be CPUs, or ten. Each takes some hundred bytes.
	MaxActive int
}

// MaxActiveLimit is the highest MaxActive that the kernel takes
// (kernel/trace/trace_kprobe.c, KRETPROBE_MAXACTIVE_MAX).
const MaxActiveLimit = 4096

// maxLine is how long a line the kernel reads, without the newline
// (kernel/trace/trace.c, WRITE_BUFSIZE).
const maxLine = 4094

// line is the definition as the kernel reads it and writes it to its error
// log: words with one space between them.
func (d Dynamic) line(group string) string {
	words := append([]string{d.head() + group + "/" + d.Event, d.Place}, strings.FieldsFunc(d.Args, isSeparator)...)
	return strings.Join(words, " ")
}

// head is what the line begins with: "p:", "r:" or "r1000:".
func (d Dynamic) head() string {
	if d.MaxActive != 0 {
		return string(d.Type) + strconv.Itoa(d.MaxActive) + ":"
	}
	return string(d.Type) + ":"
}

// isSeparator tells whether r is white space in a definition. The kernel goes
// by bytes, where 0xa0 is a space as well; Spellable is for those.
func isSeparator(r rune) bool { return r == ' ' || '\t' <= r && r <= '\r' }

// Spellable tells whether the kernel reads s as one word of a definition. It
// splits lines at white space, which is the byte 0xa0 too (half of à in UTF-8),
// takes what follows # for a comment, and knows no quoting. A file with
// another path is named by one that is spellable, for instance
// /proc/PID/fd/N of an open file.
func Spellable(s string) bool { return s != "" && unspellable(s) < 0 }

// unspellable is the index of the first byte that can't be in a word of a
// definition, or -1.
func unspellable(s string) int {
	for i := range len(s) {
		if isForbidden(s[i]) || isSeparator(rune(s[i])) {
			return i
		}
	}
	return -1
}

// isForbidden tells whether c can't be in a definition at all.
func isForbidden(c byte) bool { return c == 0 || c == '#' || c == 0xa0 }

// check finds what would make another command of the line than is meant.
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

// isIdentifier tells whether s is a C identifier, as names of groups, events
// and arguments must be (kernel/trace/trace_probe.h, is_good_name).
func isIdentifier(s string) bool {
	return isName(s) && !strings.Contains(s, "-") && (s[0] < '0' || s[0] > '9')
}

// appendLine gives the kernel one command. The file must never be opened with
// O_TRUNC, which removes everybody's events.
func (t *FS) appendLine(file, line string) error {
	f, err := os.OpenFile(filepath.Join(t.dir, file), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// removeEvent removes the event, or finds it gone. The kernel lets go of an
// event a moment after the last perf event on it was closed; until then it
// says EBUSY, and removeEvent tries again for as long as patience.
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
