package probe

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/uprobe"
)

func TestTheEntryAndTheReturnOfACallTrapAtOnePlace(t *testing.T) {
	moved := uint64(3)
	if runtime.GOARCH != "amd64" {
		moved = 0 // the return address may be signed behind the first instruction
	}
	for _, test := range []struct {
		name         string
		entry, leave uprobe.Site
		want         [2]uint64 // offsets of entry and return
	}{
		{"a kernel return probe goes where the entry was moved to",
			uprobe.Site{Symbol: "f", Offset: 0x103, Moved: 3, Entry: true}, uprobe.Site{Symbol: "f", Offset: 0x100, Return: true}, [2]uint64{0x100 + moved, 0x100 + moved}},
		{"an entry behind the frame's setup goes back",
			uprobe.Site{Symbol: "f", Offset: 0x103, Moved: 3}, uprobe.Site{Symbol: "f", Offset: 0x100, Return: true}, [2]uint64{0x100, 0x100}},
		{"a return instruction stays",
			uprobe.Site{Symbol: "f", Offset: 0x103, Moved: 3, Entry: true}, uprobe.Site{Symbol: "f", Offset: 0x180}, [2]uint64{0x103, 0x180}},
		{"another function's stays",
			uprobe.Site{Symbol: "f", Offset: 0x103, Moved: 3, Entry: true}, uprobe.Site{Symbol: "g", Offset: 0x100, Return: true}, [2]uint64{0x103, 0x100}},
	} {
		entry, leave := []uprobe.Site{test.entry}, []uprobe.Site{test.leave}
		sharePlaces(entry, leave)
		if got := [2]uint64{entry[0].Offset, leave[0].Offset}; got != test.want {
			t.Errorf("%s: at %#x, want %#x", test.name, got, test.want)
		}
		if entry[0].Offset == 0x100 && entry[0].Moved != 0 {
			t.Errorf("%s: the entry is said to be moved by %d", test.name, entry[0].Moved)
		}
	}
}

func TestFunctionsWithoutTimesAreNoted(t *testing.T) {
	for _, test := range []struct {
		calls Calls
		why   string
		names int
		want  []string // in the notes, in their order
	}{
		{calls: TimedCalls, names: 0},
		{calls: TimedCalls, names: 1, want: []string{"f0 is left out: its calls cannot be timed"}},
		{calls: AllCalls, names: 1, want: []string{"f0 is counted without its time: a kernel return probe would end a program"}},
		{calls: AllCalls, why: "no kprobes", names: 1, want: []string{"f0 is counted without its time: no kprobes"}},
		{calls: AllCalls, names: 5, want: []string{"f0 is", "f1 is", "f2 is", "and 2 more functions"}},
	} {
		s := &Set{options: Options{Calls: test.calls}, why: test.why}
		for i := range test.names {
			s.untimed = append(s.untimed, fmt.Sprint("f", i))
		}
		s.noteUntimed()
		if !slices.EqualFunc(s.Notes, test.want, strings.HasPrefix) {
			t.Errorf("%+v: %q", test, s.Notes)
		}
	}
}

func TestAFunctionHasOneNumber(t *testing.T) {
	var s Set
	for i, name := range []string{"read", "write", "read"} {
		if got := s.number(name); got != i%2 {
			t.Errorf("%s is number %d, want %d", name, got, i%2)
		}
	}
	if !slices.Equal(s.Functions, []string{"read", "write"}) {
		t.Errorf("the functions are %q", s.Functions)
	}
}
