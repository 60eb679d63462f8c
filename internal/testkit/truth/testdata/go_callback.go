// Command go_callback is busy in a Go function that C calls, which Go has called: twice, one within
// the other.
package main

/*
#cgo CFLAGS: -O2
extern void called(long);
static volatile long sink;

// call has values to keep while it waits, so that without frame pointers the compiler has no
// register left for one.
__attribute__((noinline)) static void call(long again)
{
	long a = sink, b = a * 3, c = a * 5, d = a * 7, e = a * 9, f = a * 11;

	called(again);
	sink += a ^ b ^ c ^ d ^ e ^ f;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

func main() {
	fmt.Print("main.main\nmain.ask\nmain.useC\n...\ncall\n...\nmain.called\nmain.useC\n...\ncall\n...\nmain.called\nmain.spin\n")
	ask(seconds())
}

//go:noinline
func ask(limit time.Duration) {
	for used() < limit {
		useC(1)
	}
}

//go:noinline
func useC(again int) { C.call(C.long(again)) }

var sink uint64

//
//export called
//go:noinline
func called(again C.long) {
	if again > 0 {
		useC(int(again) - 1)
	} else {
		spin()
	}
	sink++
}

//go:noinline
func spin() {
	for range 1 << 24 {
		sink++
	}
}

// seconds is the CPU time asked for on the command line.
func seconds() time.Duration {
	if len(os.Args) < 2 {
		return 0
	}
	s, _ := strconv.ParseFloat(os.Args[1], 64)
	return time.Duration(s * float64(time.Second))
}

// used is the CPU time of the process so far.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
