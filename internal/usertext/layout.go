package usertext

import (
	"encoding/binary"
	"os"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
)

// layout is the records of a probe as they are here: the kernel's, with a byte for each text
// that says whether it was read late, before what the kernel calls dynamic, and the texts that
// were read behind all.
type layout struct {
	format *ftrace.Format
	texts  []*ftrace.Field // in the kernel's record
	base   int             // where that has its dynamic part
	full   int             // where it ends if it has no room for more
}

// newLayout makes the layout of records with these texts.
func newLayout(f *ftrace.Format, texts []*ftrace.Field) *layout {
	extended := *f
	extended.Fields = append([]ftrace.Field(nil), f.Fields...)
	l := &layout{format: &extended, texts: texts}
	first := 0 // of what is fetched
	for i := range f.Fields {
		field := &f.Fields[i]
		l.base = max(l.base, field.Offset+field.Size)
		if field.Common || field.Name == ftrace.FieldProbeIP || field.Name == ftrace.FieldProbeFunc || field.Name == ftrace.FieldProbeRetIP {
			first = max(first, field.Offset+field.Size)
		}
	}
	// A page holds what is fetched (kernel/trace/trace_uprobe.c, MAX_UCB_BUFFER_SIZE).
	l.full = first + os.Getpagesize()
	for i, text := range texts {
		extended.Fields = append(extended.Fields, ftrace.Field{
			Name: printfmt.ProbeTextLate(text.Name), Type: "u8", Offset: l.base + i, Size: 1, ElemSize: 1,
		})
	}
	return l
}

// begin appends a record of the kernel's, with the bytes for the marks.
func (l *layout) begin(dst, raw []byte) []byte {
	if len(raw) < l.base {
		return append(dst, raw...)
	}
	start := len(dst)
	dst = append(dst, raw[:l.base]...)
	dst = append(dst, make([]byte, len(l.texts))...)
	dst = append(dst, raw[l.base:]...)
	for i := range l.format.Fields {
		field := &l.format.Fields[i]
		if field.Location != ftrace.DataLoc {
			continue
		}
		for at := start + field.Offset; at+4 <= start+field.Offset+field.Size; at += 4 {
			where := binary.NativeEndian.Uint32(dst[at:])
			binary.NativeEndian.PutUint32(dst[at:], where&^0xffff|uint32(uint16(where)+uint16(len(l.texts))))
		}
	}
	return dst
}

// maxRecord is the most that a record's own offsets can tell.
const maxRecord = 1<<16 - 1

// more stands at the end of what was cut.
const more = "..."

// put puts a text in the place of the i-th one. The record is that of begin from start on, which
// grows.
func (l *layout) put(dst []byte, start, i int, text []byte, cut, late bool) []byte {
	if len(dst)-start < l.base+len(l.texts) {
		return dst
	}
	room := maxRecord - (len(dst) - start) - len(more) - 1
	if room < 0 {
		return dst
	}
	if len(text) > room {
		text, cut = text[:room], true
	}
	from := len(dst)
	dst = append(dst, text...)
	if cut {
		dst = append(dst, more...)
	}
	dst = append(dst, 0)
	binary.NativeEndian.PutUint32(dst[start+l.texts[i].Offset:], uint32(from-start)|uint32(len(dst)-from)<<16)
	if late {
		dst[start+l.base+i] = 1
	}
	return dst
}
