package ftrace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// FilterError says what the kernel does not like about an event's filter.
type FilterError struct {
	Filter  string
	Pos     int    // the byte in Filter that the kernel complains about; -1 if unknown
	Message string // the kernel's words, and which fields there are where those may help
	Err     error  // the errno of the write; the kernel's choice of it means little
}

// Error is the message, and below it the filter with a caret under the byte at
// Pos.
func (e *FilterError) Error() string { return e.Message + point(e.Filter, e.Pos) }

// Unwrap returns the errno of the write.
func (e *FilterError) Unwrap() error { return e.Err }

// ExplainFilter returns nil if the kernel takes the filter
// (Documentation/trace/events.rst, section 5) for the event system:event, else a
// *FilterError that points at what it does not take. perf_event_open(2) says no
// more than EINVAL.
//
// The kernel is asked at the event itself if it is of a group of this process,
// and else in a trace instance of our own, which is removed again, so that
// nobody's filter changes. An instance costs the kernel tens of milliseconds and
// a ring buffer for each CPU: ask when a filter was refused. Any other error says
// that the kernel could not be asked; it wraps fs.ErrNotExist if there is no such
// event.
func (t *FS) ExplainFilter(system, event, filter string) error {
	if strings.TrimSpace(filter) == "" {
		return &FilterError{Filter: filter, Message: "The filter is empty", Err: unix.EINVAL}
	}
	if len(filter) >= os.Getpagesize() {
		return &FilterError{Filter: filter, Pos: os.Getpagesize() - 1, Message: "The filter is longer than a page, which is all the kernel reads", Err: unix.EINVAL}
	}
	if at := strings.IndexByte(filter, 0); at >= 0 {
		return &FilterError{Filter: filter, Pos: at, Message: "The kernel can't read this character", Err: unix.EINVAL}
	}
	_, err := t.EventID(system, event)
	if err == nil {
		try := t.tryInInstance
		if isMine(system) {
			try = t.tryInPlace
		}
		err = try(filepath.Join("events", system, event, "filter"), filter)
	}
	refused := (*FilterError)(nil)
	if err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("check a filter: %w", err)
	}
	if refused != nil && (refused.Pos < 0 || refused.Message == "Field not found") {
		refused.Message += t.fields(system, event)
	}
	return err
}

// fields says which fields an event has, those of all events aside; it is "" if
// that can't be read.
func (t *FS) fields(system, event string) string {
	format, err := t.Format(system, event)
	if err != nil {
		return ""
	}
	var names []string
	for i := range format.Fields {
		if f := &format.Fields[i]; !f.Common && !strings.HasPrefix(f.Name, "__probe_") {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return "; the event has only the fields of all events, such as common_pid"
	}
	return "; the event's fields are " + strings.Join(names, ", ")
}

// tryInInstance tries the filter in a trace instance.
func (t *FS) tryInInstance(file, filter string) (err error) {
	instance, err := t.NewInstance()
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := instance.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
	}()
	return tryFilter(filepath.Join(instance.FS().Dir(), file), filter)
}

// tryInPlace tries the filter and takes it away again. What listens through perf
// has a filter of its own.
func (t *FS) tryInPlace(file, filter string) error {
	path := filepath.Join(t.dir, file)
	err := tryFilter(path, filter)
	if clearErr := tryFilter(path, "0"); err == nil {
		err = clearErr
	}
	return err
}

// tryFilter sets a filter.
func tryFilter(path, filter string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, refused := file.WriteString(filter)
	var errno unix.Errno
	if refused == nil || !errors.As(refused, &errno) {
		return refused
	}
	text := make([]byte, 4*os.Getpagesize()) // the filter, and a line with a caret below it
	n, err := file.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return err
	}
	return explainFilter(filter, string(text[:n]), errno)
}

// explainFilter reads the explanation that the kernel leaves in the file filter:
//
//	prev_pid == "abc"
//	             ^
//	parse_error: Expecting numeric field
func explainFilter(filter, text string, errno unix.Errno) *FilterError {
	e := &FilterError{Filter: filter, Pos: -1, Message: fmt.Sprintf("The kernel rejected the filter: %v", errno), Err: errno}
	rest, ok := strings.CutPrefix(text, strings.TrimRight(filter, " \t\n\v\f\r")+"\n")
	if !ok {
		return e
	}
	pad, rest, ok := strings.Cut(rest, "^\n")
	line, _, _ := strings.Cut(rest, "\n")
	message, isMessage := strings.CutPrefix(line, "parse_error: ")
	if !ok || !isMessage || message == "" || strings.Trim(pad, " ") != "" {
		return e
	}
	e.Message = message
	e.Pos = filterCulprit(filter, e.Message, min(len(pad), len(filter)))
	return e
}

// filterCulprit finds the start of what the kernel complains about. It reports
// mistakes in the structure where they are, mistakes in a comparison one byte
// behind the start of the value, or behind the end of the field's name
// (kernel/trace/trace_events_filter.c, predicate_parse and parse_pred).
func filterCulprit(filter, message string, pos int) int {
	switch message {
	case "Field not found":
		return wordBefore(filter, pos)
	case "Invalid operator", "Expecting string field", "Expecting numeric field",
		"Illegal integer value", "Invalid value (did you forget quotes)?", "Function not found":
		if pos == len(filter) && message == "Invalid operator" {
			return pos // there is none
		}
		return max(pos-1, 0)
	case "Illegal operation for field type":
		value := max(pos-1, 0)
		before := strings.TrimRight(filter[:value], " \t")
		return len(strings.TrimRight(before, "=!<>~&"))
	}
	return pos
}

// wordBefore is the start of the last name that starts before pos.
func wordBefore(text string, pos int) int {
	isWord := func(c byte) bool { return isIdentifier(string(c)) || isDigit(c) }
	end := pos
	for end > 0 && !isWord(text[end-1]) {
		end--
	}
	start := end
	for start > 0 && isWord(text[start-1]) {
		start--
	}
	return start
}
