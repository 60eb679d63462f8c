// Goroutines has as many goroutines as its argument says, all of which wait in one
// of three ways. It prints a line once they do, and ends with its input.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

func receive(c chan int) { <-c }

func lock(m *sync.Mutex) { m.Lock() }

func sleep() { time.Sleep(time.Hour) }

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	c, m := make(chan int), new(sync.Mutex)
	m.Lock()
	for i := range n {
		switch i % 3 {
		case 0:
			go receive(c)
		case 1:
			go lock(m)
		default:
			go sleep()
		}
	}
	time.Sleep(time.Second)
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
