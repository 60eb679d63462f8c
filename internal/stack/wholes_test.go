package stack

import (
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
)

func TestACutStackIsTheOnlyWholeOneThatBeginsLikeIt(t *testing.T) {
	processes := process.NewTable(process.Options{})
	defer processes.Close()
	s := NewStore(processes, nil)
	chain := func(truncated bool, offsets ...uint64) callchain.StackID {
		var frames []callchain.Frame
		for _, offset := range offsets {
			frames = append(frames, callchain.Frame{Object: 1, Offset: offset})
		}
		id, _ := s.intern(frames, truncated)
		return id
	}
	first, second, other := chain(false, 1, 2, 3, 9), chain(false, 1, 2, 4, 9), chain(false, 5, 6, 9)
	recursion := chain(false, 7, 8, 7, 8, 7, 8, 9)
	unknown := chain(true, 1, 2, 3)
	if _, ok := s.Completed("a", unknown); ok {
		t.Error("completed where nothing is known")
	}
	s.Whole("a", first)
	s.Whole("a", second)
	s.Whole("b", other)
	s.Whole("b", other)
	s.Whole("b", recursion)
	labeled, _ := s.With(chain(true, 1, 2, 4), "[file]")
	wantLabeled, _ := s.With(second, "[file]")
	tests := []struct {
		name    string
		program string
		cut     callchain.StackID
		want    callchain.StackID // None: it stays cut
	}{
		{"the only one, which came later", "a", unknown, first},
		{"another", "a", chain(true, 1, 2, 4), second},
		{"all of it", "a", chain(true, 1, 2, 4, 9), second},
		{"two fit", "a", chain(true, 1, 2), None},
		{"none fits", "a", chain(true, 1, 3), None},
		{"more than all of it", "a", chain(true, 1, 2, 4, 9, 9), None},
		{"another program's", "a", chain(true, 5, 6), None},
		{"the program's", "b", chain(true, 5), other},
		{"a recursion that may be deeper", "b", chain(true, 7, 8, 7), None},
		{"what leads to a recursion", "b", chain(true, 7, 8), recursion},
		{"a label stays", "a", labeled, wantLabeled},
		{"nothing but a label", "a", func() callchain.StackID { id, _ := s.With(None, "[x]"); return id }(), None},
	}
	for _, tt := range tests {
		got, ok := s.Completed(tt.program, tt.cut)
		if got != tt.want || ok != (tt.want != None) {
			t.Errorf("%s: %d, %v, want %d", tt.name, got, ok, tt.want)
		}
	}
	s.WholeAt("a", 100, first)
	s.WholeAt("a", 100, first)
	s.WholeAt("a", 200, second)
	s.WholeAt("a", 300, first)
	s.WholeAt("a", 300, second)
	two := chain(true, 1, 2)
	for sp, want := range map[uint64]callchain.StackID{100: first, 200: second, 300: None, 400: None} {
		if got, ok := s.CompletedAt("a", sp, two); got != want || ok != (want != None) {
			t.Errorf("at stack pointer %d: %d, %v, want %d", sp, got, ok, want)
		}
	}
	if _, ok := s.CompletedAt("b", 100, two); ok {
		t.Error("completed by another program's")
	}
	s.Keep(unknown)
	s.Sweep()
	if _, ok := s.Completed("a", unknown); ok {
		t.Error("completed by a stack that is gone")
	}
}
