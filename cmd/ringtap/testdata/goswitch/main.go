// Command goswitch allocates and waits in C functions. With a number it does so that many
// times; without one it waits for its input, in C, in a Go function that C has called.
package main

/*
#cgo CFLAGS: -O2 -fomit-frame-pointer
#include <stdlib.h>
#include <unistd.h>
extern void called(void);
static volatile int sink;
__attribute__((noinline)) static void cleak(int n) { *(volatile char *)malloc(n) = 1; sink++; }
__attribute__((noinline)) static void cwait(int us) { usleep(us); sink++; }
__attribute__((noinline)) static void cread(void) { char c; sink += read(0, &c, 1); }
__attribute__((noinline)) static void ccall(void) { called(); sink++; }
*/
import "C"

import (
	"os"
	"strconv"
)

//go:noinline
func leakA() { C.cleak(1000) }

//go:noinline
func leakB() { C.cleak(500) }

//go:noinline
func waitA() { C.cwait(2000) }

//go:noinline
func waitB() { C.cwait(1000) }

//go:noinline
func outer() { C.ccall() }

//
//export called
//go:noinline
func called() { inner() }

//go:noinline
func inner() { C.cread() }

func main() {
	if len(os.Args) < 2 {
		outer()
		return
	}
	n, _ := strconv.Atoi(os.Args[1])
	for range n {
		leakA()
		leakB()
		waitA()
		waitB()
	}
}
