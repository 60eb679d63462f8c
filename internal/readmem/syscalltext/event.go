package syscalltext

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
)

// commonFlags is the offset of a record's flags. irqsOff is one of the flags (TRACE_FLAG_IRQS_OFF in
// include/linux/trace_events.h).
const (
	commonFlags = 2
	irqsOff     = 1
)

// event is an event with texts.
type event struct {
	layout *layout
	// probe is the record format of a probe that replaces the tracepoint; nil if the records are the
	// tracepoint's own.
	probe *ftrace.Format
	// own is the tracepoint's format if its records have text; else nil.
	own *ftrace.Format
}

// argument returns the record's field of layout.params[i], nil if a probe can't have it.
func (e *event) argument(i int) *ftrace.Field {
	if e.probe != nil {
		return e.probe.Field(e.layout.args[i].Name)
	}
	return e.layout.args[i]
}

// pointer returns the value of layout.params[i] in a record, 0 if the record lacks it.
func (e *event) pointer(i int, raw []byte) uint64 {
	field := e.argument(i)
	if field == nil || len(raw) < field.Offset+8 {
		return 0
	}
	return binary.LittleEndian.Uint64(raw[field.Offset:])
}

// vector returns the value of the parameter with several texts in a record, 0 if there is none.
func (e *event) vector(raw []byte) uint64 {
	for i, p := range e.layout.params {
		if p.Vector {
			return e.pointer(i, raw)
		}
	}
	return 0
}

// fetches returns the record's field with the text of layout.params[i], nil if the kernel does not fetch it.
func (e *event) fetches(i int) *ftrace.Field {
	format := cmp.Or(e.probe, e.own)
	if format == nil {
		return nil
	}
	return format.Field(printfmt.SyscallText(e.layout.params[i].Name))
}

// fetched returns the text of layout.params[i] in the kernel's record, nil if it has none. whole is false if the
// kernel cut the text. The text belongs to the record.
func (e *event) fetched(i int, raw []byte) (b []byte, whole bool) {
	field := e.fetches(i)
	if field == nil {
		return nil, false
	}
	if b, _ = field.Data(raw, 0); len(b) == 0 {
		return nil, false
	}
	return slices.Clip(b), e.own == nil || !printfmt.SyscallTextCut(b)
}

// tracepoint appends the fixed part of the tracepoint's record to dst. raw is the tracepoint's own record, or one
// of the probe that replaces it.
func (e *event) tracepoint(dst, raw []byte) []byte {
	if e.probe == nil {
		return append(dst, raw...)
	}
	start := len(dst)
	dst = append(dst, raw[:min(len(raw), firstArgument)]...)
	if len(dst) > start+commonFlags {
		// Interrupts may be off at the probe although they are on during the call.
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
