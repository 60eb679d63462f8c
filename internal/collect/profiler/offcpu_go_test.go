package profiler_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// goSleeper is set for the process that sleeps.
const goSleeper = "RINGTAP_GO_SLEEPER"

// sleepInGo is waitsProgram in Go.
func sleepInGo() {
	input := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	input.ReadString('\n')
	said := make([]string, 3)
	var wait sync.WaitGroup
	for i, f := range []func(){goShallow, goDeep, func() {}} {
		wait.Go(func() {
			runtime.LockOSThread()
			said[i] = measured([]string{"goShallow", "goDeep", "nothing"}[i], f)
		})
	}
	wait.Wait()
	for _, line := range said {
		fmt.Println(line)
	}
	input.ReadString('\n')
}

// measured runs a function and says what the kernel counted of it.
func measured(name string, f func()) string {
	before, begin := usage(), time.Now()
	f()
	took, after := time.Since(begin), usage()
	cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	return fmt.Sprintln(name, took.Nanoseconds(), cpu, after.Nvcsw-before.Nvcsw, after.Nivcsw-before.Nivcsw)
}

func usage() (r unix.Rusage) {
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &r); err != nil {
		panic(err)
	}
	return r
}

//go:noinline
func goShallow() {
	for range 40 {
		goNap(20 * time.Millisecond)
	}
}

//go:noinline
func goDeep() {
	for range 20 {
		goBelow()
	}
}

//go:noinline
func goBelow() { goNap(30 * time.Millisecond) }

// goNap blocks its thread.
//
//go:noinline
func goNap(d time.Duration) {
	rest := unix.NsecToTimespec(d.Nanoseconds())
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &rest, &rest) == unix.EINTR {
	}
}
