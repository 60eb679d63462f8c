package symbolize_test

import (
	"fmt"
	"log"
	"os"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/symbolize"
)

// A window of one stack becomes a profile. A collect.Recorder makes windows
// from samples.
func Example() {
	const path = "../../symbols/testdata/tiny.elf"
	file, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		log.Fatal(err)
	}
	window := &collect.Window{
		Stacks: []collect.Stack{{Frames: []callchain.Frame{{Object: 1, Offset: 0x10f}, {Object: 1, Offset: 0x11e}}}},
		Images: map[callchain.ObjectID]*collect.Image{1: {Kind: process.File, Path: path, Code: file, Size: info.Size()}},
	}

	symbolizer := symbolize.New(symbolize.Options{})
	defer symbolizer.Close()
	profile := symbolizer.Profile(window, nil)
	for _, i := range profile.Stacks[0].Frames {
		fmt.Printf("%s+%#x\n", profile.Frames[i].Name, profile.Frames[i].Offset)
	}
	// Output:
	// _start+0x8
	// f+0x3
}
