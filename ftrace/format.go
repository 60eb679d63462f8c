package ftrace

import "fmt"

// Format says how the records of one event are laid out and how the kernel
// prints them: the event's file "format" in tracefs
// (Documentation/trace/events.rst, section 2).
type Format struct {
	System string // the directory below events; ParseFormat leaves it empty
	Name   string
	ID     int     // the number in each record's common_type, and for perf_event_open(2)
	Fields []Field // the common ones first, as the kernel lists them

	// PrintFmt is what follows "print fmt: ": a C string and the arguments of
	// printf, written over REC, the record.
	PrintFmt string
}

// FormatError says which line of a format file makes no sense.
type FormatError struct {
	Line   int    // counted from 1; 0 if something is missing from the whole
	Text   string // the line
	Reason string
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return "event format: " + e.Reason
	}
	return fmt.Sprintf("event format, line %d %q: %s", e.Line, e.Text, e.Reason)
}

// ParseFormat reads the text of an event's file "format". The error is a
// *FormatError.
func ParseFormat(text []byte) (*Format, error) {
	return nil, &FormatError{Reason: "no fields"}
}

// Format reads the format of the event system:event. The error wraps
// fs.ErrNotExist if the kernel has no such event.
func (t *FS) Format(system, event string) (*Format, error) {
	return nil, &FormatError{Reason: "no fields"}
}

// Field returns the field of that name, common fields included, or nil if there
// is none.
func (f *Format) Field(name string) *Field { return nil }

// UprobeFormat is the format of a user probe without arguments, which the
// records of perf's own uprobe events have; they have no file in tracefs. A
// return probe's records hold the function as well as the place it returns to.
func UprobeFormat(system, name string, ret bool) *Format {
	return &Format{System: system, Name: name}
}
