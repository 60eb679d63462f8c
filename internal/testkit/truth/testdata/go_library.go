// Command go_library is a library for go_library.c, whose threads call Go.
package main

// #cgo CFLAGS: -O2
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
