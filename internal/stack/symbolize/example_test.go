package symbolize_test

import (
	"fmt"
	"log"
	"os"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
)

// One stack gets its names. A stack.Store makes stacks of samples.
func Example() {
	const path = "../../../symbols/testdata/tiny.elf"
	file, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		log.Fatal(err)
	}
	set := &stack.Set{
		Stacks: []stack.Stack{{Frames: []callchain.Frame{{Object: 1, Offset: 0x10f}, {Object: 1, Offset: 0x11e}}}},
		Images: map[callchain.ObjectID]*stack.Image{1: {Kind: process.File, Path: path, Code: file, Size: info.Size()}},
	}

	symbolizer := symbolize.New(symbolize.Options{})
	defer symbolizer.Close()
	named := symbolizer.Profile(set, nil)
	for _, i := range named.Stacks[0].Frames {
		fmt.Printf("%s+%#x\n", named.Frames[i].Name, named.Frames[i].Offset)
	}
	// Output:
	// _start+0x8
	// f+0x3
}
