// Command go_vdso asks for the time, for which Go calls the vdso on the system stack.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

var sink int64

func main() {
	fmt.Print("main.main\nmain.ask\nmain.stamp\ntime.Now\n...\n")
	ask(seconds())
}

//go:noinline
func ask(limit time.Duration) {
	for used() < limit {
		stamp()
	}
}

//go:noinline
func stamp() {
	for range 1 << 16 {
		sink += time.Now().UnixNano()
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
