package live

import (
	"bytes"
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/internal/script/value"
)

// getter takes a value from a hit.
type getter func(h *hit) value.Value

// getter returns what takes a value from the hits of a source.
func (s *source) getter(field plan.Field, of *check.Source) (getter, error) {
	switch field.From {
	case plan.KernelStack:
		return func(h *hit) value.Value { return value.Int(h.feed.stacks.kernel(h, of.Type)) }, nil
	case plan.UserStack:
		return func(h *hit) value.Value { return value.Int(h.feed.stacks.user(h, of.Type)) }, nil
	case plan.Function:
		return func(h *hit) value.Value { return value.Int(h.symbol()) }, nil
	case plan.Process:
		s.parents = s.parents || field.Root == check.ParentRoot || field.Root == check.ParentCommRoot
		return ofProcess(field.Root, field.Name)
	case plan.Address:
		return func(h *hit) value.Value { return value.Int(h.variable(field.Offset)) }, nil
	case plan.Memory:
		return s.memory(field.Name, of)
	case plan.Task:
		return behindTask(of), nil
	case plan.Entry:
		return s.ofEntry(field.Name, of)
	case plan.EventProbe:
		return s.ofEventProbe(field.Name, of)
	}
	name, late := field.Name, printfmt.ProbeTextLate(field.Name)
	if field.From == plan.RecordText {
		name, late = printfmt.SyscallText(name), printfmt.SyscallTextLate(name)
		if s.probe.Format.Field(name) == nil { // it points to a buffer, not to a text
			return s.memory(field.Name, of)
		}
	}
	f := s.probe.Format.Field(name)
	if f == nil {
		return nil, fmt.Errorf("%s has no field %s", s.probe.Format.Name, name)
	}
	if field.From == plan.RecordText && of.Form == check.Text && len(of.Path) == 1 {
		return s.markLate(late, word(f, of, of.Path[0].Offset/8)), nil
	}
	return s.markLate(late, recorded(f, of)), nil
}

// word returns what reads the n-th text of a vector of a system call's parameter.
func word(f *ftrace.Field, of *check.Source, n int) getter {
	return func(h *hit) value.Value {
		words, _ := f.Data(h.raw, 0)
		for range n {
			_, words, _ = bytes.Cut(words, []byte{0})
		}
		return value.String(cut(words, of))
	}
}

// recorded returns what reads a field of the record.
func recorded(f *ftrace.Field, of *check.Source) getter {
	switch {
	case of.Form == check.Text || of.Form == check.Plain && of.Type.Kind == types.String:
		return func(h *hit) value.Value {
			text, _ := f.Bytes(h.raw)
			return value.String(cut(text, of))
		}
	case of.Form == check.Vector:
		return func(h *hit) value.Value {
			words, _ := f.Data(h.raw, 0)
			return value.String(string(words))
		}
	case of.Form != check.Plain || of.Type.Kind == types.Array || of.Type.Kind == types.Struct || of.Type.Kind == types.Buffer:
		return func(h *hit) value.Value {
			bytes, _ := f.Data(h.raw, 0)
			if size := of.Type.Size; size > 0 && len(bytes) > size {
				bytes = bytes[:size]
			}
			return value.String(string(bytes))
		}
	case f.Signed:
		return func(h *hit) value.Value {
			n, _ := f.Int(h.raw)
			return value.Signed(n)
		}
	}
	return func(h *hit) value.Value {
		n, _ := f.Uint(h.raw)
		return value.Int(n)
	}
}

// unreadable is what the kernel puts where it could not read a text.
const unreadable = "(fault)"

// cut cuts a text at its end and as str() does, which has room for a terminating zero.
func cut(text []byte, of *check.Source) string {
	text, _, _ = bytes.Cut(text, []byte{0})
	if string(text) == unreadable {
		return ""
	}
	if of.Size > 0 && len(text) >= of.Size {
		text = text[:of.Size-1]
	}
	return string(text)
}
