package printfmt_test

import (
	"fmt"
	"log"
	"os"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
)

// A record of perf's becomes the line that the kernel would print.
func Example() {
	// The format comes from FS.Format, the record from perfevent.Sample.Raw.
	text, err := os.ReadFile("../testdata/formats/syscalls.sys_exit_openat")
	if err != nil {
		log.Fatal(err)
	}
	format, err := ftrace.ParseFormat(text)
	if err != nil {
		log.Fatal(err)
	}
	format.System = "syscalls"
	raw := []byte{0x0d, 3, 0, 1, 0x53, 7, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}

	printer, err := printfmt.New(format, printfmt.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", printfmt.AppendLine(nil, []byte("bash"), 1875, 25, 521188474000, raw, format, printer))

	returned, ok := format.Field("ret").Int(raw)
	fmt.Println("the file descriptor is", returned, ok)
	// Output:
	//             bash-1875    [025] .....   521.188474: sys_openat -> 0x3
	// the file descriptor is 3 true
}

// A print format calculates as C does, and names what it prints.
func ExamplePrinter() {
	format := ftrace.UprobeFormat("ringtap", "readline", true)
	printer, err := printfmt.New(format, printfmt.Options{})
	if err != nil {
		log.Fatal(err)
	}
	raw := make([]byte, 24)
	raw[8], raw[9], raw[10] = 0x9c, 0x48, 0x41 // the function
	raw[16], raw[17], raw[18] = 0x54, 0xfb, 0x41
	fmt.Printf("readline: %s\n", printer.Append(nil, raw))
	// Output: readline: (0x41fb54 <- 0x41489c)
}
