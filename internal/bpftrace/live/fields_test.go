package live

import (
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/probe"
)

func TestATextThatWasReadLateIsMarked(t *testing.T) {
	// The fields of a record: a text of 8 bytes, and whether it was read late.
	format := func(text, late string) *ftrace.Format {
		return &ftrace.Format{Name: "probe", Fields: []ftrace.Field{
			{Name: text, Type: "char", Size: 8, Array: true, ElemSize: 1, String: true},
			{Name: late, Type: "u8", Offset: 8, Size: 1, ElemSize: 1},
		}}
	}
	whole := &check.Source{Form: check.Text}
	word := &check.Source{Form: check.Text, Path: []check.Step{{Offset: 8}}}
	for _, tt := range []struct {
		name   string
		format *ftrace.Format
		field  plan.Field
		of     *check.Source
		want   string
	}{
		{"an argument of a function", format("path", "__path_late"), plan.Field{Name: "path", From: plan.Record}, whole, "/a"},
		{"a parameter of a system call", format("__filename_val", "__filename_late"), plan.Field{Name: "filename", From: plan.RecordText}, whole, "/a"},
		{"a word of a system call's parameter", format("__argv_val", "__argv_late"), plan.Field{Name: "argv", From: plan.RecordText}, word, "-b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &source{probe: &probe.Source{}}
			s.probe.Format = tt.format
			get, err := s.getter(tt.field, tt.of)
			if err != nil {
				t.Fatal(err)
			}
			for _, late := range []byte{0, 1} {
				v := get(&hit{raw: append([]byte("/a\x00-b\x00\x00\x00"), late)})
				if v.S != tt.want || v.IsLate() != (late == 1) {
					t.Errorf("with the mark %d: %q, late: %v", late, v.S, v.IsLate())
				}
			}
		})
	}
}
