package ftrace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Format describes the layout of one event's records and how the kernel prints them. It is the
// content of the event's file "format" in tracefs (Documentation/trace/events.rst, section 2).
type Format struct {
	System string // the directory below events; ParseFormat does not set it
	Name   string
	ID     int     // the number in each record's common_type, also used by perf_event_open(2)
	Fields []Field // the common ones first, as the kernel lists them

	// PrintFmt is the text after "print fmt: ": a C format string and its arguments, in which
	// REC is the record. It may have several lines.
	PrintFmt string
}

// maxRecord limits the offsets of fields: neither perf's nor ftrace's ring buffers can hold a
// record of 64 KiB.
const maxRecord = 1 << 16

// FormatError says which line of a format file is malformed.
type FormatError struct {
	Line   int    // counted from 1; 0 if the error is not in one line
	Text   string // the line
	Reason string
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return "event format: " + e.Reason
	}
	return fmt.Sprintf("event format, line %d %q: %s", e.Line, e.Text, e.Reason)
}

// ParseFormat parses the text of an event's file "format". Unknown lines are ignored, since the
// kernel may add some. The error is a *FormatError.
func ParseFormat(text []byte) (*Format, error) {
	f := &Format{}
	number := 0
	for len(text) > 0 {
		if rest, ok := bytes.CutPrefix(text, []byte("print fmt: ")); ok {
			f.PrintFmt = strings.TrimRight(string(rest), "\n")
			break
		}
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text, number = rest, number+1
		if reason := f.parseLine(string(bytes.TrimSpace(line))); reason != "" {
			return nil, &FormatError{Line: number, Text: string(line), Reason: reason}
		}
	}
	if f.Name == "" {
		return nil, &FormatError{Reason: "no line names the event"}
	}
	if len(f.Fields) == 0 {
		return nil, &FormatError{Reason: "no fields"}
	}
	return f, nil
}

// parseLine parses one line before the print format and returns the reason if it is malformed.
func (f *Format) parseLine(line string) (reason string) {
	if name, ok := strings.CutPrefix(line, "name: "); ok {
		f.Name = name
	} else if id, ok := strings.CutPrefix(line, "ID: "); ok {
		n, err := strconv.ParseUint(id, 10, 31)
		if err != nil {
			return "the ID is no number"
		}
		f.ID = int(n)
	} else if strings.HasPrefix(line, "field:") {
		field, reason := parseField(line)
		if reason != "" {
			return reason
		}
		f.Fields = append(f.Fields, field)
	}
	return ""
}

// Format reads the format of the event system:event. The error wraps fs.ErrNotExist if the
// kernel has no such event, and fs.ErrPermission if the caller may not read it. If the file is
// malformed, it is a *FormatError.
func (t *FS) Format(system, event string) (*Format, error) {
	text, err := t.FormatText(system, event)
	if err != nil {
		return nil, err
	}
	f, err := ParseFormat(text)
	if err != nil {
		return nil, fmt.Errorf("event %s:%s: %w", system, event, err)
	}
	f.System = system
	return f, nil
}

// FormatText returns the contents of the file "format" of the event system:event. The error
// wraps fs.ErrNotExist if the kernel has no such event.
func (t *FS) FormatText(system, event string) ([]byte, error) {
	if !isName(system) || !isName(event) {
		return nil, fmt.Errorf("event %q:%q: %w", system, event, os.ErrNotExist)
	}
	text, err := os.ReadFile(filepath.Join(t.dir, "events", system, event, "format"))
	if err != nil {
		return nil, fmt.Errorf("event %s:%s: %w", system, event, err)
	}
	return text, nil
}

// RecordTexts returns what readers of recorded events need besides the formats of the events: the
// files events/header_page and events/header_event, which describe trace rings, and printk_formats,
// which has texts that some events record only by address. strings is nil where there is no such file.
func (t *FS) RecordTexts() (page, event, strings []byte, err error) {
	if page, err = os.ReadFile(filepath.Join(t.dir, "events", "header_page")); err != nil {
		return nil, nil, nil, err
	}
	if event, err = os.ReadFile(filepath.Join(t.dir, "events", "header_event")); err != nil {
		return nil, nil, nil, err
	}
	strings, err = os.ReadFile(filepath.Join(t.dir, "printk_formats"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return page, event, strings, err
}

// Field returns the field called name, also a common one, or nil if there is none.
func (f *Format) Field(name string) *Field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}
