// Command go_library is a library for go_library.c, which calls Go on its own thread.
package main

// #cgo CFLAGS: -O2 -fno-omit-frame-pointer
import "C"

var sink uint64

func main() {}

//
//export goSpin
//go:noinline
func goSpin() {
	spin()
	sink++
}

//go:noinline
func spin() {
	for range 1 << 24 {
		sink++
	}
}
