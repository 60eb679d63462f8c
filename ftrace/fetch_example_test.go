package ftrace_test

import (
	"fmt"
	"log"

	"github.com/ringtap/ringtap/ftrace"
)

// What people type becomes what the kernel of an architecture understands.
func ExampleUserArgs() {
	args, err := ftrace.ParseFetchArgs("cmd=+0($arg3):string %esi")
	if err != nil {
		log.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		out, notes, err := ftrace.UserArgs(args, arch, false)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(arch, out, notes)
	}
	// Output:
	// amd64 [cmd=+0(%dx):string arg2=%si:x32] []
	// arm64 [cmd=+0(%x2):string arg2=%x1:x32] [these are amd64 registers; on arm64 ringtap used their equivalents: %esi is %x1]
}

// A mistake is shown where it is.
func ExampleParseFetchArgs() {
	_, err := ftrace.ParseFetchArgs("n=%si cmd=%dx:string")
	fmt.Println(err)
	// Output:
	// A string is read from an address: put +0(…) around the value
	//   n=%si cmd=%dx:string
	//                 ^
}

// Events with fetch arguments live in a group of the process's own, which goes
// away with Close, or with the next ringtap if the process was killed. This
// takes root.
func ExampleFS_NewGroup() {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		log.Fatal(err)
	}
	group, err := tracefs.NewGroup("uprobe_events")
	if err != nil {
		log.Fatal(err)
	}
	defer group.Close()
	id, err := group.Define(ftrace.Dynamic{Type: 'p', Event: "readline", Place: "/bin/bash:0x8db60", Args: "prompt=+0(%di):string"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("perf_event_open knows it by number", id)
}
