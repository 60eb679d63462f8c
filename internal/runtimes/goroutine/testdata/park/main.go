// Park is a program whose goroutines stand at known places. For each line that it
// reads it writes the traceback of all of them, as the runtime sees it, and "====".
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Each is how many goroutines stand at each place.
const each = 3

// extra starts the goroutines that only some programs have.
var extra []func()

var (
	never  = make(chan int)
	wg     sync.WaitGroup
	mu     sync.Mutex
	rw     sync.RWMutex
	cond   = sync.NewCond(new(sync.Mutex))
	parked sync.WaitGroup
)

//go:noinline
func receives() { parked.Done(); <-never }

//go:noinline
func sends() { parked.Done(); make(chan int) <- 1 }

//go:noinline
func receivesOfNil() { parked.Done(); var c chan int; <-c }

//go:noinline
func selects() {
	parked.Done()
	select {
	case <-never:
	case <-make(chan string):
	}
}

//go:noinline
func selectsNothing() { parked.Done(); select {} }

//go:noinline
func sleeps() { parked.Done(); time.Sleep(time.Hour) }

//go:noinline
func locks() { parked.Done(); mu.Lock() }

//go:noinline
func locksForReading() { parked.Done(); rw.RLock() }

//go:noinline
func waits() { parked.Done(); wg.Wait() }

//go:noinline
func waitsForCondition() { parked.Done(); cond.L.Lock(); cond.Wait() }

//go:noinline
func isLocked() { runtime.LockOSThread(); parked.Done(); <-never }

// The ends of connections. Goroutines take them from here, for that a function with
// arguments would be called by one that the compiler makes.
var (
	addresses = make(chan string, each)
	conns     = make(chan net.Conn, 2*each)
)

//go:noinline
func accepts() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	addresses <- l.Addr().String()
	go dials()
	c, err := l.Accept()
	if err != nil {
		panic(err)
	}
	conns <- c
	go reads()
	parked.Done()
	l.Accept()
}

//go:noinline
func reads() { (<-conns).Read(make([]byte, 1)) }

//go:noinline
func dials() {
	c, err := net.Dial("tcp", <-addresses)
	if err != nil {
		panic(err)
	}
	conns <- c
	reads()
}

//go:noinline
func callsTheKernel() {
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		panic(err)
	}
	parked.Done()
	syscall.Read(p[0], make([]byte, 1))
}

//go:noinline
func recurses(n int) int {
	if n > 0 {
		return recurses(n-1) + 1
	}
	receives()
	return n
}

func recursesDeep() { recurses(5000) }

var sum int

//go:noinline
func spins() {
	parked.Done()
	for i := 0; ; i++ {
		if i&1023 == 0 {
			sum += i
		}
	}
}

// churns makes goroutines that end all the time, and garbage.
func churns() {
	for {
		c := make(chan []byte)
		for i := 0; i < 50; i++ {
			go func() { c <- make([]byte, 4096) }()
		}
		for i := 0; i < 50; i++ {
			sum += len(<-c)
		}
	}
}

// Left and right are two ways to the same place, at the same depth.

//go:noinline
func leftOuter(c chan int) { leftInner(c); sum++ }

//go:noinline
func leftInner(c chan int) { meets(c); sum++ }

//go:noinline
func rightOuter(c chan int) { rightInner(c); sum++ }

//go:noinline
func rightInner(c chan int) { meets(c); sum++ }

//go:noinline
func meets(c chan int) { <-c; sum++ }

// swaps goes both ways in turn.
func swaps() {
	c := make(chan int)
	go func() {
		for {
			c <- 1
		}
	}()
	for {
		leftOuter(c)
		rightOuter(c)
	}
}

func start(n int, f func()) {
	parked.Add(n)
	for i := 0; i < n; i++ {
		go f()
	}
}

func main() {
	mu.Lock()
	rw.Lock()
	wg.Add(1)
	for _, f := range []func(){receives, sends, receivesOfNil, selects, selectsNothing, sleeps, locks, locksForReading, waits, waitsForCondition, isLocked, accepts, callsTheKernel, recursesDeep} {
		start(each, f)
	}
	for _, f := range extra {
		start(each, f)
	}
	for _, arg := range os.Args[1:] {
		switch arg {
		case "spin":
			start(1, spins)
		case "swap":
			go swaps()
		case "churn":
			go churns()
		default:
			n, err := strconv.Atoi(arg)
			if err != nil {
				panic(err)
			}
			start(n, receives)
		}
	}
	parked.Wait()
	for !standStill() {
		time.Sleep(time.Millisecond)
	}
	for i := 0; i < 2; i++ { // the second one tells goroutines when the first was
		runtime.GC()
	}
	fmt.Println("ready")
	answers()
}

// connected is how many goroutines wait for the network: those that accept, and both
// ends of their first connections.
const connected = 3 * each

// standStill reports whether the last goroutine stands where it will, but for those that
// never do, by the runtime's own traceback.
func standStill() bool {
	text := make([]byte, 64<<20)
	text = text[:runtime.Stack(text, true)]
	waits := 0
	for i, g := range strings.Split(string(text), "\n\n") {
		switch {
		case i == 0, strings.Contains(g, "main.spins"), strings.Contains(g, "main.swaps"), strings.Contains(g, "main.churns"):
		case strings.Contains(g, " [runnable"), strings.Contains(g, " [running"):
			return false
		case strings.Contains(g, " [IO wait"):
			waits++
		}
	}
	return waits == connected
}

//go:noinline
func answers() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		text := make([]byte, 64<<20)
		os.Stdout.Write(text[:runtime.Stack(text, true)])
		fmt.Println("\n====")
	}
}
