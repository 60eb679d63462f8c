package stack

import "github.com/ringtap/ringtap/callchain"

// Labels is the object of frames that are not code but a word, such as "[socket]". The frame's
// offset is the index of the word in Set.Labels.
const Labels = ^callchain.ObjectID(0)

// maxWords bounds the words, which are kept during the whole run. Programs can give themselves any
// number of names.
const maxWords = 1 << 14

// otherWords replaces words beyond maxWords.
const otherWords = "[others]"

// words are the labels of a Store.
type words struct {
	all   []string
	index map[string]int
}

func newWords() words { return words{index: make(map[string]int)} }

// frame returns the frame for a word.
func (w *words) frame(word string) callchain.Frame {
	i, ok := w.index[word]
	if !ok && len(w.all) >= maxWords && word != otherWords {
		return w.frame(otherWords)
	}
	if !ok {
		i = len(w.all)
		w.all = append(w.all, word)
		w.index[word] = i
	}
	return callchain.Frame{Object: Labels, Offset: uint64(i)}
}
