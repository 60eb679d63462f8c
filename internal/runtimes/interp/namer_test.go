package interp

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtap/ringtap/callchain"
)

// mortal is a runtime whose functions end.
type mortal struct {
	Runtime
	gone  bool
	asked int
}

func (m *mortal) Frames(dst []Frame, c Call) ([]Frame, bool) {
	m.asked++
	if m.gone {
		return append(dst, Frame{Function: "damaged"}), false
	}
	return append(dst, Frame{Function: string(rune('a' + c.Code)), Line: int(c.At)}), true
}

func TestFunctionsThatAreGoneAreWhatTheyWere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(mortal)
		n := NewNamer(m)
		n.Note([]Call{{Code: 1, At: 10}})
		n.Frames(nil, Call{Code: 2, At: 20})
		m.gone = true
		for _, age := range []time.Duration{0, fresh} {
			time.Sleep(age)
			for _, test := range []struct {
				name string
				call Call
				want []Frame
			}{
				{"a place that was noted", Call{Code: 1, At: 10}, []Frame{{Function: "b", Line: 10}}},
				{"a place that was asked for", Call{Code: 2, At: 20}, []Frame{{Function: "c", Line: 20}}},
				{"another place of such a function", Call{Code: 2, At: 21}, []Frame{{Function: "c"}}},
				{"another function at that address", Call{Code: 2, At: 20, Cookie: 5}, nil},
				{"a function that was never named", Call{Code: 3}, nil},
			} {
				before := Frame{Function: "before"}
				got, ok := n.Frames([]Frame{before}, test.call)
				if ok != (test.want != nil) || !slices.Equal(got, append([]Frame{before}, test.want...)) {
					t.Errorf("%s, %v old: %v, %v; want %v", test.name, age, got, ok, test.want)
				}
			}
		}
	})
}

func TestANameIsBelievedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(mortal)
		n := NewNamer(m)
		call := Call{Code: 1, At: 10}
		n.Note([]Call{call, call})
		for _, test := range []struct {
			after time.Duration
			asked int
		}{{0, 1}, {fresh - 1, 1}, {1, 2}, {fresh - 1, 2}} {
			time.Sleep(test.after)
			n.Note([]Call{call})
			if _, ok := n.Frames(nil, call); !ok || m.asked != test.asked {
				t.Errorf("%v later: named %v, asked %d times, want %d", test.after, ok, m.asked, test.asked)
			}
		}
	})
}

func TestANamerHasThePartsAndTheSwitchesOfItsRuntime(t *testing.T) {
	part, other, loop := callchain.Frame{Object: 6}, callchain.Frame{Object: 5}, callchain.Frame{Object: 7}
	for _, test := range []struct {
		name              string
		runtime           Runtime
		handles, switches bool
	}{
		{"neither", loops(7), false, false},
		{"parts", parts{7}, true, false},
		{"switches", switched{7}, false, true},
	} {
		n := NewNamer(test.runtime)
		if n.Handler(part) != test.handles || n.Switches(other) != test.switches || n.Handler(loop) || n.Switches(loop) {
			t.Errorf("%s: a part %v, a switch %v, the loop %v and %v", test.name, n.Handler(part), n.Switches(other), n.Handler(loop), n.Switches(loop))
		}
	}
}
