package syscalltext

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
)

// commonFlags is where a record's flags are, and irqsOff one of them
// (TRACE_FLAG_IRQS_OFF in include/linux/trace_events.h).
const (
	commonFlags = 2
	irqsOff     = 1
)

// event is an event with texts.
type event struct {
	layout *layout
	// probe is the format of the records of a probe that stands for the
	// tracepoint; nil if the records are the tracepoint's own.
	probe *ftrace.Format
	// own is the tracepoint's format if its records have text; else nil.
	own *ftrace.Format
}

// pointer is the i-th parameter with text in a record.
func (e *event) pointer(i int, raw []byte) uint64 {
	field := e.layout.args[i]
	if e.probe != nil {
		if field = e.probe.Field(field.Name); field == nil {
			return 0
		}
	}
	return uint64At(raw, field.Offset)
}

// vector is the parameter with several texts in a record; 0 if there is none.
func (e *event) vector(raw []byte) uint64 {
	for i, p := range e.layout.params {
		if p.Vector {
			return e.pointer(i, raw)
		}
	}
	return 0
}

// fetches is the field of a record that has the text of the i-th parameter with text; nil if there
// is none.
func (e *event) fetches(i int) *ftrace.Field {
	format := cmp.Or(e.probe, e.own)
	if format == nil {
		return nil
	}
	return format.Field(printfmt.SyscallText(e.layout.params[i].Name))
}

// fetched is the text that the record has of the i-th parameter with text, nil
// if it has none, and whether that is all of it.
func (e *event) fetched(i int, raw []byte) (b []byte, whole bool) {
	field := e.fetches(i)
	if field == nil || len(raw) < field.Offset+4 {
		return nil, false
	}
	where := binary.LittleEndian.Uint32(raw[field.Offset:])
	from, length := int(where&0xffff), int(where>>16)
	if length == 0 || from+length > len(raw) {
		return nil, false
	}
	b = bytes.Clone(raw[from : from+length])
	return b, e.own == nil || !printfmt.SyscallTextCut(b)
}

// tracepoint makes the fixed part of the tracepoint's record of a probe's.
func (e *event) tracepoint(dst, raw []byte) []byte {
	if e.probe == nil {
		return append(dst, raw...)
	}
	start := len(dst)
	dst = append(dst, raw[:min(len(raw), firstArgument)]...)
	if len(dst) > start+commonFlags {
		// A probe may be hit with interrupts off where the call is not made so.
		dst[start+commonFlags] &^= irqsOff
	}
	dst = append(dst, make([]byte, start+e.layout.base-len(dst))...)
	for _, to := range arguments(e.layout.format) {
		if from := e.probe.Field(to.Name); from != nil && len(raw) >= from.Offset+8 && to.Offset+8 <= e.layout.base {
			copy(dst[start+to.Offset:], raw[from.Offset:from.Offset+8])
		}
	}
	return dst
}
