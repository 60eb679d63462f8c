// Command go_callback is busy in a Go function that C calls, which Go has called.
package main

/*
#cgo CFLAGS: -O2 -fno-omit-frame-pointer
extern void called(void);
static volatile long sink;
__attribute__((noinline)) static void call(void) { called(); sink++; }
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
	fmt.Print("main.main\nmain.ask\nmain.useC\n...\ncall\n...\nmain.called\nmain.spin\n")
	ask(seconds())
}

//go:noinline
func ask(limit time.Duration) {
	for used() < limit {
		useC()
	}
}

//go:noinline
func useC() { C.call() }

var sink uint64

//
//export called
//go:noinline
func called() {
	spin()
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
