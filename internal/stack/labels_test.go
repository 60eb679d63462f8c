package stack

import (
	"strconv"
	"testing"
)

// Programs can call themselves what they like, and as often.
func TestWordsAreBounded(t *testing.T) {
	w := newWords()
	for i := range 2 * maxWords {
		w.frame(strconv.Itoa(i))
	}
	if n := len(w.all); n != maxWords+1 || w.all[w.frame("another").Offset] != otherWords || w.all[w.frame("7").Offset] != "7" {
		t.Errorf("%d words are kept, want %d and one for the others", n, maxWords)
	}
}
