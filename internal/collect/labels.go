package collect

import "github.com/ringtap/ringtap/callchain"

// Labels is in place of the object of a frame that is no code but a word that a
// collector put there. The frame's offset is the word's index in Window.Labels.
const Labels = ^callchain.ObjectID(0)

// With names the row whose stack is that of the given one with a label as its
// leaf: "[socket]". The stack is the kernel's where there is one.
func (r *Rows) With(row Row, label string) Row {
	if row.process == nil {
		return row
	}
	stack := &row.key.user
	if row.key.kernel != NoStack {
		stack = &row.key.kernel
	}
	rec := r.recorder
	var frames []callchain.Frame
	var truncated bool
	if *stack != NoStack {
		frames, truncated = rec.interner.Stack(*stack)
	}
	rec.frames = append(append(rec.frames[:0], rec.label(label)), frames...)
	id, kept := rec.intern(rec.frames, truncated)
	if !kept {
		r.part.counts.Unkept++
		return Row{key: rest}
	}
	*stack = id
	return row
}

// maxWords bounds the words, which are kept for the run: programs can give themselves
// any number of names.
const maxWords = 1 << 14

// otherWords stands for those past that.
const otherWords = "[others]"

// label is the frame of a word.
func (r *Recorder) label(word string) callchain.Frame {
	i, ok := r.labelIndex[word]
	if !ok && len(r.labels) >= maxWords && word != otherWords {
		return r.label(otherWords)
	}
	if !ok {
		i = len(r.labels)
		r.labels = append(r.labels, word)
		r.labelIndex[word] = i
	}
	return callchain.Frame{Object: Labels, Offset: uint64(i)}
}
