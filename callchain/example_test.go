package callchain_test

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"

	"github.com/ringtap/ringtap/callchain"
)

// program is an address space with one object in it.
type program struct{ code callchain.Mapping }

func (p program) Find(pc uint64) (callchain.Mapping, bool) {
	return p.code, pc >= p.code.Start && pc < p.code.End
}

// A sample's registers and copied stack become a chain of frames, and the chain
// becomes a small number that counts can be kept by.
func Example() {
	file, err := os.Open("testdata/bare.amd64.elf")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	table, err := callchain.Compile(file)
	if err != nil {
		log.Fatal(err)
	}
	space := program{callchain.Mapping{Start: 0x400000, End: 0x401000, Object: 1, Table: table}}

	// A thread at the first instruction of the function that _start calls: the
	// return address lies at the stack pointer.
	const mask = 1<<6 | 1<<7 | 1<<8 // PERF_REG_X86_BP, _SP, _IP
	var capture callchain.Capture
	if err := capture.Regs.Load(callchain.AMD64, mask, []uint64{0, 0x7ffc0000, 0x400210}); err != nil {
		log.Fatal(err)
	}
	capture.Stack = binary.LittleEndian.AppendUint64(nil, 0x4000f7)

	unwinder := callchain.New(callchain.AMD64)
	frames, end := unwinder.Unwind(nil, space, &capture)
	for _, frame := range frames {
		fmt.Printf("object %d offset %#x\n", frame.Object, frame.Offset)
	}
	fmt.Println(end)

	stacks := callchain.NewInterner()
	first := stacks.Intern(frames, end != callchain.Complete)
	again := stacks.Intern(frames, end != callchain.Complete)
	fmt.Println(first == again)
	// Output:
	// object 1 offset 0x210
	// object 1 offset 0xf6
	// complete
	// true
}
