// Command go_c is busy in a C function, which Go calls on the system stack.
package main

/*
#cgo CFLAGS: -O2 -fomit-frame-pointer
static volatile long sink;
__attribute__((noinline)) static void spin(void) { for (long i = 0; i < 1 << 24; i++) sink += i; }
__attribute__((noinline)) static void call(void) { spin(); sink++; }
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
	fmt.Print("main.main\nmain.ask\nmain.useC\n...\ncall\nspin\n")
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
