package ftrace

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestLiveAnEventHasThePlacesThatAreAdded(t *testing.T) {
	tracefs := withUprobes(t)
	g := newGroup(t, tracefs, "uprobe_events")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Define(Dynamic{Type: 'p', Event: "many", Place: program + ":0x1000", Args: here("a=%di:u32")}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		d    Dynamic
		ok   bool
	}{
		{"another place", Dynamic{Type: 'p', Event: "many", Place: program + ":0x1010", Args: here("a=%si:u32")}, true},
		{"other arguments", Dynamic{Type: 'p', Event: "many", Place: program + ":0x1020", Args: here("b=%si:u32")}, false},
		{"another type", Dynamic{Type: 'r', Event: "many", Place: program + ":0x1030", Args: here("a=%si:u32")}, false},
		{"an event that is not there", Dynamic{Type: 'p', Event: "other", Place: program + ":0x1040"}, false},
	} {
		err := g.Add(test.d)
		if !tracefs.AddsPlaces() {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v", test.name, err)
			}
		} else if (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if _, err := tracefs.EventID(g.Name(), "many"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a place of the event is left: %v", err)
	}
	if err := g.Add(Dynamic{Type: 'p', Event: "many", Place: program + ":0x1010"}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("to a closed group: %v", err)
	}
}
