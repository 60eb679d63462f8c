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

// FilterError is returned when the kernel rejects the filter of an event.
type FilterError struct {
	Filter  string
	Pos     int    // the byte in Filter that the kernel complains about; -1 if unknown
	Message string // the kernel's message, with the event's fields if they may help
	Err     error  // the errno of the write; it is not specific
}

// Error returns the message and, below it, the filter with a caret under the byte at Pos.
func (e *FilterError) Error() string { return e.Message + point(e.Filter, e.Pos) }

// Unwrap returns the errno of the write.
func (e *FilterError) Unwrap() error { return e.Err }

// ExplainFilter tests a filter (Documentation/trace/events.rst, section 5) on the event
// system:event. It returns nil if the kernel accepts it, else a *FilterError that points at the
// mistake. perf_event_open(2) itself returns only EINVAL.
//
// If the event is in a group of this process, the filter is tried on the event itself.
// Otherwise it is tried in a temporary trace instance, so that no other program's filter
// changes. An instance takes the kernel tens of milliseconds and a ring buffer for each CPU, so
// call this only after a filter was rejected. Any other error means that the test was not
// possible. It wraps fs.ErrNotExist if there is no such event.
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

// fields lists the event's own fields for a message, without the common ones. It returns "" if
// they cannot be read.
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

// tryInPlace tries the filter on the event itself and removes it again. perf events have their
// own filters and are not affected.
func (t *FS) tryInPlace(file, filter string) error {
	path := filepath.Join(t.dir, file)
	err := tryFilter(path, filter)
	if clearErr := tryFilter(path, "0"); err == nil {
		err = clearErr
	}
	return err
}

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

// explainFilter parses the explanation that the kernel leaves in the file filter:
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

// filterCulprit returns the start of the part that the kernel complains about. The kernel's
// position is exact for errors in the structure. For errors in a comparison, it is one byte
// after the start of the value, or after the end of the field's name
// (kernel/trace/trace_events_filter.c, predicate_parse and parse_pred).
func filterCulprit(filter, message string, pos int) int {
	switch message {
	case "Field not found":
		return wordBefore(filter, pos)
	case "Invalid operator", "Expecting string field", "Expecting numeric field",
		"Illegal integer value", "Invalid value (did you forget quotes)?", "Function not found":
		if pos == len(filter) && message == "Invalid operator" {
			return pos // the operator is missing
		}
		return max(pos-1, 0)
	case "Illegal operation for field type":
		value := max(pos-1, 0)
		before := strings.TrimRight(filter[:value], " \t")
		return len(strings.TrimRight(before, "=!<>~&"))
	}
	return pos
}

// wordBefore returns the start of the last name that starts before pos.
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
