package script

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/text/match"
)

// fields is a set of the fields of a sample's text.
type fields uint32

const (
	fieldComm fields = 1 << iota
	fieldTID
	fieldPID
	fieldCPU
	fieldTime
	fieldPeriod
	fieldEvent
	fieldIP
	fieldSym
	fieldSymOff
	fieldDSO
	fieldTrace

	frameFields = fieldIP | fieldSym | fieldSymOff | fieldDSO
	// defaultFields are perf's for all events but tracepoints.
	defaultFields = fieldComm | fieldTID | fieldCPU | fieldTime | fieldPeriod | fieldEvent | frameFields
	// tracepointFields are perf's for tracepoints without callchains.
	tracepointFields = fieldComm | fieldTID | fieldCPU | fieldTime | fieldEvent | fieldTrace
)

// field describes a field: its name, and what a sample must have (PERF_SAMPLE_*; 0: nothing).
type field struct {
	name   string
	bit    fields
	sample uint64
}

var allFields = [...]field{
	{"comm", fieldComm, 0},
	{"tid", fieldTID, unix.PERF_SAMPLE_TID},
	{"pid", fieldPID, unix.PERF_SAMPLE_TID},
	{"cpu", fieldCPU, unix.PERF_SAMPLE_CPU},
	{"time", fieldTime, unix.PERF_SAMPLE_TIME},
	{"period", fieldPeriod, 0}, // a fixed one is known by the event
	{"event", fieldEvent, 0},
	{"ip", fieldIP, unix.PERF_SAMPLE_IP},
	{"sym", fieldSym, unix.PERF_SAMPLE_IP},
	{"symoff", fieldSymOff, unix.PERF_SAMPLE_IP},
	{"dso", fieldDSO, unix.PERF_SAMPLE_IP},
	{"trace", fieldTrace, 0}, // of tracepoints only
}

// FieldNames returns the names of all fields.
func FieldNames() (names []string) {
	for _, f := range allFields {
		names = append(names, f.name)
	}
	return names
}

// Fields says which fields are printed. The zero value prints perf's default fields.
type Fields struct {
	only        fields // 0: the default fields, and those of add, but not of remove
	add, remove fields
}

// ParseFields parses a list of fields as perf script -F takes it: "comm,ip,sym" are the fields to
// print, "+pid,-period" changes the default.
func ParseFields(list string) (Fields, error) {
	var f Fields
	for word := range strings.SplitSeq(list, ",") {
		name := strings.TrimLeft(word, "+-")
		bit, err := fieldOf(name)
		if err != nil {
			return Fields{}, err
		}
		switch sign := word[:len(word)-len(name)]; sign {
		case "":
			f.only |= bit
		case "+":
			f.add, f.remove = f.add|bit, f.remove&^bit
		case "-":
			f.add, f.remove = f.add&^bit, f.remove|bit
		default:
			return Fields{}, fmt.Errorf("%q: one + or -", word)
		}
	}
	switch {
	case f.only != 0 && f.add|f.remove != 0:
		return Fields{}, fmt.Errorf("%q has fields with and without + or -", list)
	case f.only&fieldSymOff != 0 && f.only&fieldSym == 0:
		return Fields{}, fmt.Errorf("%q has symoff, which follows sym, and no sym", list)
	}
	return f, nil
}

func fieldOf(name string) (fields, error) {
	for _, f := range allFields {
		if f.name == name {
			return f.bit, nil
		}
	}
	if near := match.Near(name, FieldNames()); near != nil {
		return 0, fmt.Errorf("no field %q; %s", name, match.DidYouMean(near))
	}
	return 0, fmt.Errorf("no field %q: want %s", name, strings.Join(FieldNames(), ","))
}

// of returns the fields of an event's samples. As in perf, the first event of the same type decides
// which fields the samples have, so that all samples of a type have the same columns. Default
// fields that samples lack are left out. It is an error if fields that were asked for are missing.
func (f *Fields) of(event *perfdata.Event, all []perfdata.Event, callchains bool) (fields, error) {
	first := &all[slices.IndexFunc(all, func(e perfdata.Event) bool { return e.Attr.Type == event.Attr.Type })]
	asked, set := f.only|f.add, f.only
	if set == 0 {
		set = defaultFields
		if isTracepoint(event) {
			if set = tracepointFields; callchains && *f == (Fields{}) {
				set |= frameFields
			}
		}
		set = (set | f.add) &^ f.remove
	}
	if !isTracepoint(event) {
		set &^= fieldTrace
	}
	for _, field := range allFields {
		if first.Attr.Sample_type&field.sample == field.sample || set&field.bit == 0 {
			continue
		}
		if asked&field.bit != 0 {
			return 0, fmt.Errorf("samples of %s have no %s", first.Name, field.name)
		}
		set &^= field.bit
	}
	return set, nil
}
