// Shared is a library with goroutines, for a program that is written in C.
package main

import "C"

import "time"

//go:noinline
func waitsInLibrary() { <-make(chan int) }

//export Start
func Start() {
	for i := 0; i < 5; i++ {
		go waitsInLibrary()
	}
	time.Sleep(100 * time.Millisecond)
}

func main() {}
