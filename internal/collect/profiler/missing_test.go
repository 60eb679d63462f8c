package profiler

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
)

func TestFilesThatARecordingHasAndThisMachineHasNotAreNoted(t *testing.T) {
	w := &table.Window{Set: stack.Set{Images: map[callchain.ObjectID]*stack.Image{
		1: {Kind: process.File, Path: "/here"},
		2: {Kind: process.Anon, Path: "[anon]", Err: errors.New("no map")},
		3: {Kind: process.File, Path: "/rare", Err: errors.New("open /rare")},
	}}}
	add := func(id callchain.ObjectID, samples uint64) {
		w.Rows = append(w.Rows, profile.Row{User: len(w.Stacks), Kernel: profile.None, Values: []uint64{samples}})
		w.Stacks = append(w.Stacks, stack.Stack{Frames: []callchain.Frame{{Object: id, Offset: 1}, {Object: id, Offset: 2}, {Object: 1}, {Object: id, Offset: 3}}})
	}
	for id := range callchain.ObjectID(7) { // /missing10 to /missing16, each with more samples
		w.Images[10+id] = &stack.Image{Kind: process.File, Path: "/missing", Err: fmt.Errorf("open /missing%d", 10+id)}
		add(10+id, 100+uint64(id))
	}
	add(1, 100)
	add(2, 100)
	add(3, 8) // less than a percent, though its frames are in two places of the stack
	w.Rows = append(w.Rows, profile.Row{User: profile.None, Kernel: profile.None, Values: []uint64{100}})
	notes := missingFiles(w, nil)
	if len(notes) != maxMissing+1 || !strings.HasSuffix(notes[0], "/missing has no names: open /missing16") || !strings.HasSuffix(notes[4], "open /missing12") || notes[5] != "2 more files are missing" {
		t.Errorf("%q", notes)
	}
	named := &process.Recording{Symbol: func(path string, offset uint64) (string, uint64, uint64, bool) { return "f", 0, 4, path == "/missing" }}
	if notes := missingFiles(w, named); len(notes) != 0 {
		t.Errorf("the recording has the names: %q", notes)
	}
}
