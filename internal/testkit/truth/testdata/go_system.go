// Command go_system is busy in the runtime, on the system stack.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

var sink [1 << 12]byte

func main() {
	fmt.Print("main.main\nmain.ask\nmain.trace\nruntime.Stack\nruntime.systemstack.abi0\n...\n")
	ask(seconds())
}

//go:noinline
func ask(limit time.Duration) {
	for used() < limit {
		trace()
	}
}

//go:noinline
func trace() {
	for range 1 << 10 {
		runtime.Stack(sink[:], false)
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
