package usertext

import (
	"encoding/binary"
	"os"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/readmem/athit"
)

// layout describes a probe's extended records: the kernel's record, with a byte for each text before
// the dynamic part that says whether the text was read late. The texts that were read come last.
type layout struct {
	format *ftrace.Format
	texts  []*ftrace.Field // in the kernel's record
	base   int             // offset of the dynamic part in the kernel's record
	full   int             // size of a kernel's record that has no room for more
}

// newLayout makes the layout of records with these texts.
func newLayout(f *ftrace.Format, texts []*ftrace.Field) *layout {
	extended := *f
	extended.Fields = append([]ftrace.Field(nil), f.Fields...)
	l := &layout{format: &extended, texts: texts}
	first := 0 // offset of the first fetched field
	for i := range f.Fields {
		field := &f.Fields[i]
		l.base = max(l.base, field.Offset+field.Size)
		if field.Common || field.Name == ftrace.FieldProbeIP || field.Name == ftrace.FieldProbeFunc || field.Name == ftrace.FieldProbeRetIP {
			first = max(first, field.Offset+field.Size)
		}
	}
	// The fetched fields fit in a page (kernel/trace/trace_uprobe.c, MAX_UCB_BUFFER_SIZE).
	l.full = first + os.Getpagesize()
	for i, text := range texts {
		extended.Fields = append(extended.Fields, ftrace.Field{
			Name: printfmt.ProbeTextLate(text.Name), Type: "u8", Offset: l.base + i, Size: 1, ElemSize: 1,
		})
	}
	return l
}

// begin appends the kernel's record raw to dst, with bytes for the late marks.
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

// maxRecord is the largest size of a record in bytes: its offsets have 16 bits.
const maxRecord = 1<<16 - 1

// put replaces the i-th text of the record that begin appended at start. It appends the new text to
// dst.
func (l *layout) put(dst []byte, start, i int, text []byte, cut, late bool) []byte {
	if len(dst)-start < l.base+len(l.texts) {
		return dst
	}
	room := maxRecord - (len(dst) - start) - len(athit.More) - 1
	if room < 0 {
		return dst
	}
	if len(text) > room {
		text, cut = text[:room], true
	}
	from := len(dst)
	dst = append(dst, text...)
	if cut {
		dst = append(dst, athit.More...)
	}
	dst = append(dst, 0)
	binary.NativeEndian.PutUint32(dst[start+l.texts[i].Offset:], uint32(from-start)|uint32(len(dst)-from)<<16)
	if late {
		dst[start+l.base+i] = 1
	}
	return dst
}
