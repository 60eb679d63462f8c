package live

import (
	"bytes"
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// getter takes a value from a hit.
type getter func(h *hit) value.Value

// getter returns a getter of a value in the source's hits.
func (s *source) getter(field plan.Field, src *check.Source) (getter, error) {
	switch field.From {
	case plan.KernelStack:
		return func(h *hit) value.Value { return value.Int(h.feed.stacks.kernel(h, src.Type)) }, nil
	case plan.UserStack:
		return func(h *hit) value.Value { return value.Int(h.feed.stacks.user(h, src.Type)) }, nil
	case plan.Function:
		return func(h *hit) value.Value { return value.Int(h.symbol()) }, nil
	case plan.Process:
		s.parents = s.parents || field.Root == check.ParentRoot || field.Root == check.ParentCommRoot
		return ofProcess(field.Root, field.Name)
	case plan.Address:
		return func(h *hit) value.Value { return value.Int(h.variable(field.Offset)) }, nil
	case plan.Memory:
		return s.memory(field.Name, src)
	case plan.Task:
		return behindTask(src), nil
	case plan.Entry:
		return s.ofEntry(field.Name, src)
	case plan.EventProbe:
		return s.ofEventProbe(field.Name, src)
	}
	name, late := field.Name, printfmt.ProbeTextLate(field.Name)
	if field.From == plan.RecordText {
		name, late = printfmt.SyscallText(name), printfmt.SyscallTextLate(name)
		if s.probe.Format.Field(name) == nil { // it points to a buffer, not to a text
			return s.memory(field.Name, src)
		}
	}
	f := s.probe.Format.Field(name)
	if f == nil {
		return nil, fmt.Errorf("%s has no field %s", s.probe.Format.Name, name)
	}
	if field.From == plan.RecordText && src.Form == check.Text && len(src.Path) == 1 {
		return s.markLate(late, word(f, src, src.Path[0].Offset/8)), nil
	}
	return s.markLate(late, recorded(f, src)), nil
}

// word returns a getter of the n-th string of a system call's vector parameter.
func word(f *ftrace.Field, src *check.Source, n int) getter {
	return func(h *hit) value.Value {
		words, _ := f.Data(h.raw, 0)
		for range n {
			_, words, _ = bytes.Cut(words, []byte{0})
		}
		return value.String(cut(words, src))
	}
}

// recorded returns a getter of a field in the record.
func recorded(f *ftrace.Field, src *check.Source) getter {
	switch {
	case src.Form == check.Text || src.Form == check.Plain && src.Type.Kind == types.String:
		return func(h *hit) value.Value {
			text, _ := f.Bytes(h.raw)
			return value.String(cut(text, src))
		}
	case src.Form == check.Vector:
		return func(h *hit) value.Value {
			words, _ := f.Data(h.raw, 0)
			return value.String(string(words))
		}
	case src.Form != check.Plain || src.Type.Kind == types.Array || src.Type.Kind == types.Struct || src.Type.Kind == types.Buffer:
		return func(h *hit) value.Value {
			bytes, _ := f.Data(h.raw, 0)
			if size := src.Type.Size; size > 0 && len(bytes) > size {
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

// unreadable is what the kernel records in place of a text that it could not read.
const unreadable = "(fault)"

// cut cuts text at its first zero byte and, like str(), after src.Size-1 bytes: the last
// byte is for the terminating zero. It returns "" for an unreadable text.
func cut(text []byte, src *check.Source) string {
	text, _, _ = bytes.Cut(text, []byte{0})
	if string(text) == unreadable {
		return ""
	}
	if src.Size > 0 && len(text) >= src.Size {
		text = text[:src.Size-1]
	}
	return string(text)
}
