package interp

import (
	"slices"
	"testing"
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
