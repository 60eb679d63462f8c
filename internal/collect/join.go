package collect

import (
	"slices"

	"github.com/ringtap/ringtap/callchain"
)

// Join names the row whose stack is that of the given one, a label, and on top of
// it the stacks of another row upside down, so that the innermost functions of both
// are next to each other, and last the name of that other.
func (r *Rows) Join(row Row, label string, other Row, name string) Row {
	if row.process == nil || other.process == nil {
		return row
	}
	stack := &row.key.user
	if row.key.kernel != NoStack {
		stack = &row.key.kernel
	}
	rec := r.recorder
	frames := append(rec.frames[:0], rec.label(name))
	for _, id := range []callchain.StackID{other.key.user, other.key.kernel} {
		if id != NoStack {
			begin := len(frames)
			own, _ := rec.interner.Stack(id)
			frames = append(frames, own...)
			slices.Reverse(frames[begin:])
		}
	}
	frames = append(frames, rec.label(label))
	var truncated bool
	if *stack != NoStack {
		var own []callchain.Frame
		own, truncated = rec.interner.Stack(*stack)
		frames = append(frames, own...)
	}
	rec.frames = frames
	id, kept := rec.intern(frames, truncated)
	if !kept {
		r.part.counts.Unkept++
		return Row{key: rest}
	}
	*stack = id
	return row
}

// Comm is the name of a row's process.
func (r *Rows) Comm(row Row) string {
	if row.process == nil {
		return ""
	}
	return row.process.Comm
}
