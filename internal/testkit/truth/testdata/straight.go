// Command straight is a plain chain in Go, through a method and a closure.
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
	fmt.Print("main.main\nmain.outer\nmain.(*walker).step\nmain.outer.func1\nmain.leaf\n")
	outer(seconds())
}

//go:noinline
func outer(limit time.Duration) {
	w := &walker{limit: limit, next: func(limit time.Duration) {
		leaf(limit)
		sink++
	}}
	w.step()
	sink++
}

type walker struct {
	limit time.Duration
	next  func(time.Duration)
}

//go:noinline
func (w *walker) step() {
	w.next(w.limit)
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
