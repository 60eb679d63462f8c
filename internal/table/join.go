package table

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
)

// With names the row whose stack is that of the given one with a label as its
// leaf: "[socket]". The stack is the kernel's where there is one.
func (r *Rows) With(row Row, label string) Row {
	if !row.Known() {
		return row
	}
	at := row.key.leaf()
	id, kept := r.recorder.stacks.With(*at, label)
	if !kept {
		r.part.counts.Unkept++
		return Row{key: rest}
	}
	*at = id
	return row
}

// Join names the row whose stack is that of the given one, a label, and on top of
// it the stacks of another row upside down, so that the innermost functions of both
// are next to each other, and last the name of that other.
func (r *Rows) Join(row Row, label string, other Row, name string) Row {
	if !row.Known() || !other.Known() {
		return row
	}
	at := row.key.leaf()
	id, kept := r.recorder.stacks.Join(*at, label, []callchain.StackID{other.key.user, other.key.kernel}, name)
	if !kept {
		r.part.counts.Unkept++
		return Row{key: rest}
	}
	*at = id
	return row
}

// leaf is the stack that has the leaf: the kernel's where there is one.
func (k *key) leaf() *callchain.StackID {
	if k.kernel != stack.None {
		return &k.kernel
	}
	return &k.user
}

// Comm is the name of a row's process.
func (r *Rows) Comm(row Row) string {
	if !row.Known() {
		return ""
	}
	return row.process.Comm
}
