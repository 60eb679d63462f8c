// Command rounds does a round for each byte that it reads: 100 reads of 4096 bytes,
// and five naps of five milliseconds, in goroutines of their own. Then it prints how
// many nanoseconds the naps took.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

//go:noinline
func readIt(zero *os.File) {
	bytes := make([]byte, 4096)
	for range 100 {
		if _, err := zero.ReadAt(bytes, 0); err != nil {
			panic(err)
		}
	}
}

// napHere sleeps in a system call, as cgo and the file system do.
//
//go:noinline
func napHere() {
	for range 5 {
		left := syscall.NsecToTimespec(5e6)
		for syscall.Nanosleep(&left, &left) != nil {
		}
	}
}

func main() {
	zero, err := os.Open("/dev/zero")
	if err != nil {
		panic(err)
	}
	for asked := make([]byte, 1); ; {
		if n, _ := os.Stdin.Read(asked); n == 0 {
			return
		}
		done := make(chan time.Duration)
		go func() {
			readIt(zero)
			begin := time.Now()
			napHere()
			done <- time.Since(begin)
		}()
		fmt.Println((<-done).Nanoseconds())
	}
}
