package profiler

import (
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect/table"
)

func TestANoteTellsOf32BitProgramsThatAreNotUnwound(t *testing.T) {
	w := &table.Window{Counts: []table.Counts{{Samples: 9}, {Samples: 9, Foreign: 4}}}
	if notes := foreign(w, callchain.ARM64); len(notes) != 1 || !strings.HasPrefix(notes[0], "4 samples are of 32-bit programs") || !strings.Contains(notes[0], "on arm64") {
		t.Errorf("notes %q", notes)
	}
	if notes := foreign(&table.Window{Counts: []table.Counts{{Samples: 9}}}, callchain.ARM64); notes != nil {
		t.Errorf("notes %q without such a program", notes)
	}
}
