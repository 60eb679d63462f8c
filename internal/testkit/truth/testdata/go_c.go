// Command go_c is busy in a C function, which Go calls on the system stack.
package main

/*
#cgo CFLAGS: -O2
static volatile long sink;

// spin has values to keep, so that without frame pointers the compiler has no register left for one.
__attribute__((noinline)) static void spin(void)
{
	long a = sink, b = a * 3, c = a * 5, d = a * 7, e = a * 9, f = a * 11, g = a * 13, h = a * 15, k = a * 17, l = a * 19,
	     m = a * 21, n = a * 23, o = a * 25;

	for (long i = 0; i < 1 << 22; i++) {
		sink += i;
		a += b; b += c; c += d; d += e; e += f; f += g; g += h; h += k; k += l; l += m; m += n; n += o; o += a;
	}
	sink += a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ k ^ l ^ m ^ n ^ o;
}

__attribute__((noinline)) static void call(void) { spin(); sink++; }
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

func main() {
	fmt.Print("main.main\nmain.ask\nmain.useC\n...\ncall\nspin\n")
	ask(seconds())
}

//go:noinline
func ask(limit time.Duration) {
	for used() < limit {
		useC()
	}
}

//go:noinline
func useC() { C.call() }

// seconds is the CPU time asked for on the command line.
func seconds() time.Duration {
	if len(os.Args) < 2 {
		return 0
	}
	s, _ := strconv.ParseFloat(os.Args[1], 64)
	return time.Duration(s * float64(time.Second))
}

// used is the CPU time of the process so far.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
