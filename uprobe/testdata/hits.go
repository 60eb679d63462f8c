package main

import (
	"os"
	"strconv"
	"sync"
)

type T[K any] struct{ key K }

type counter struct{ value int }

//go:noinline
func (c *counter) add(n int) (int, string) {
	c.value += n
	if c.value%2 == 0 {
		return c.value, "even"
	}
	return c.value, "odd"
}

// deep needs more stack at each level, so that the runtime moves the stack while
// it is on it.
//
//go:noinline
func deep(n int) int {
	var room [256]byte
	room[n%256] = byte(n)
	if n == 0 {
		return int(room[0])
	}
	return deep(n-1) + int(room[n%256])
}

//go:noinline
func greet(name string, times int) int { return len(name) * times }

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			var c counter
			for i := range n {
				c.add(i)
				greet("hello\x00", i)
			}
			deep(1000)
		})
	}
	wait.Wait()
}
