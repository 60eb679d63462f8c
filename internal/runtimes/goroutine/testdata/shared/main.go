// Shared is a library with goroutines, for a program that is written in C.
package main

import "C"

import (
	"bytes"
	"runtime"
	"time"
)

//go:noinline
func waitsInLibrary() { <-make(chan int) }

//export Start
func Start() {
	for i := 0; i < 5; i++ {
		go waitsInLibrary()
	}
	for text := make([]byte, 1<<16); bytes.Count(text[:runtime.Stack(text, true)], []byte(" [chan receive]:\nmain.waitsInLibrary(")) < 5; {
		time.Sleep(time.Millisecond)
	}
}

func main() {}
