package table

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
)

// With returns the row whose stack is that of row plus a leaf named label, such as "[socket]". The
// leaf is on the kernel stack if there is one.
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

// Join returns the row whose stack is that of row, then label, then the stack of other upside down,
// then name. So the innermost functions of both stacks are next to each other.
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

// leaf returns the stack that has the leaf: the kernel stack if there is one.
func (k *key) leaf() *callchain.StackID {
	if k.kernel != stack.None {
		return &k.kernel
	}
	return &k.user
}

// Comm returns the name of a row's process.
func (r *Rows) Comm(row Row) string {
	if !row.Known() {
		return ""
	}
	return row.process.Comm
}
