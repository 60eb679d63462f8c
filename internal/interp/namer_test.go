package interp

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
)

// mortal is a runtime whose functions end.
type mortal struct {
	Runtime
	gone bool
}

func (m *mortal) Frames(dst []Frame, c Call) ([]Frame, bool) {
	if m.gone {
		return append(dst, Frame{Function: "damaged"}), false
	}
	return append(dst, Frame{Function: string(rune('a' + c.Code)), Line: int(c.At)}), true
}

func TestFunctionsThatAreGoneAreWhatTheyWere(t *testing.T) {
	m := new(mortal)
	n := NewNamer(m)
	n.Note([]Call{{Code: 1, At: 10}})
	n.Frames(nil, Call{Code: 2, At: 20})
	m.gone = true
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
			t.Errorf("%s: %v, %v; want %v", test.name, got, ok, test.want)
		}
	}
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
