// A Go program that traps itself and then calls in all the ways that matter to
// a frame: leaves, recursion, large frames, closures, interfaces, defer.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
)

var sink int

//go:noinline
func leaf(n int) int { return n*sink + 1 }

//go:noinline
func recurse(n int) int {
	if n == 0 {
		return leaf(n)
	}
	return recurse(n-1) + 1
}

//go:noinline
func large(n int) int {
	var block [512]byte
	for i := range block {
		block[i] = byte(i * n)
	}
	return leaf(int(block[n])) + recurse(3)
}

//go:noinline
func deferred(n int) (r int) {
	defer func() { r += leaf(n) }()
	return recurse(n)
}

//go:noinline
func work() {
	s := []int{5, 3, 8, 1}
	sort.Slice(s, func(i, j int) bool { return leaf(s[i]) < leaf(s[j]) })
	sink = large(7) + deferred(2) + len(fmt.Sprintf("%d %v", s[0], s))
}

// grow needs more stack than all else, so that the stack does not move later.
//
//go:noinline
func grow(n int) int {
	var block [1024]byte
	block[n] = byte(n)
	if n > 0 {
		return grow(n-1) + int(block[n])
	}
	return 0
}

func init() { runtime.LockOSThread() }

func main() {
	sink = grow(64)
	work()
	if len(os.Args) > 1 {
		runtime.Breakpoint()
	}
	work()
}
