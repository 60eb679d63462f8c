package syscalltext

import (
	"encoding/binary"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
)

// layout describes an event's extended records: the tracepoint's fields, the fields for texts as in
// Linux 6.19, and a mark for each text that was read later than the event:
//
//	the tracepoint's fields up to base
//	__NAME_val   4 bytes for each parameter, where its text is (__data_loc)
//	__NAME_late  1 byte for each parameter
//	the texts
type layout struct {
	format *ftrace.Format
	params []Param
	args   []*ftrace.Field // of params
	base   int
	limit  int // most bytes of a text outside a vector, including its zero
}

func newLayout(f *ftrace.Format, params []Param) *layout {
	extended := withoutTexts(f, params) // a probe's record lacks the tracepoint's own text fields
	l := &layout{format: extended, params: params, limit: maxText}
	for i := range extended.Fields {
		l.base = max(l.base, extended.Fields[i].Offset+extended.Fields[i].Size)
	}
	l.base = (l.base + 3) &^ 3
	for i, p := range params {
		l.args = append(l.args, arguments(f)[p.Index])
		extended.Fields = append(extended.Fields, ftrace.Field{
			Name: printfmt.SyscallText(p.Name), Type: "char", Offset: l.base + 4*i, Size: 4,
			Location: ftrace.DataLoc, Array: true, ElemSize: 1, String: !p.Vector,
		})
	}
	for i, p := range params {
		extended.Fields = append(extended.Fields, ftrace.Field{
			Name: printfmt.SyscallTextLate(p.Name), Type: "u8", Offset: l.base + 4*len(params) + i, Size: 1, ElemSize: 1,
		})
	}
	return l
}

// withoutTexts returns a format without the fields that have the texts of parameters.
func withoutTexts(f *ftrace.Format, params []Param) *ftrace.Format {
	bare := *f
	bare.Fields = slices.DeleteFunc(slices.Clone(f.Fields), func(field ftrace.Field) bool {
		return slices.ContainsFunc(params, func(p Param) bool { return field.Name == printfmt.SyscallText(p.Name) })
	})
	return &bare
}

// append appends an extended record to dst: the tracepoint's record raw, and the texts.
func (l *layout) append(dst, raw []byte, texts []text) []byte {
	start := len(dst)
	dst = append(dst, raw[:min(len(raw), l.base)]...)
	dst = append(dst, make([]byte, start+l.base-len(dst)+5*len(l.params))...)
	for i := range l.params {
		if i >= len(texts) || len(texts[i].bytes) == 0 {
			continue
		}
		t := &texts[i]
		where := uint32(len(dst)-start) | uint32(len(t.bytes))<<16
		binary.LittleEndian.PutUint32(dst[start+l.base+4*i:], where)
		if t.late {
			dst[start+l.base+4*len(l.params)+i] = 1
		}
		dst = append(dst, t.bytes...)
	}
	return dst
}

// text is the text that a parameter points to.
type text struct {
	bytes []byte // with its zero, in a vector each element; empty if it could not be read
	late  bool   // read later than the event
}
