// Command goroutine is busy in a goroutine that is not the first one.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

var sink uint64

func main() {
	fmt.Print("main.start\nmain.work\nmain.leaf\n")
	done := make(chan bool)
	go start(seconds(), done)
	<-done
}

//go:noinline
func start(limit time.Duration, done chan<- bool) {
	work(limit)
	done <- true
}

//go:noinline
func work(limit time.Duration) {
	leaf(limit)
	sink++
}

//go:noinline
func leaf(limit time.Duration) {
	for used() < limit {
		for range 1 << 24 {
			sink++
		}
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
