package near

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// variable is set in the environment of a helper.
const variable = "RINGTAP_NEAR_HELPER"

// order is what a helper is told first, by its standard input. The shared memory is file 3;
// the rings' descriptors are those that the helper has.
type order struct {
	Visitor    string
	Config     []byte
	Events     []perfevent.EventAttr
	Witness    int     // the sampling of switches
	Places     []place // by sampling
	Rings      []perfevent.RingFile
	Skip       []uint32 // processes
	Memory     int      // bytes of a CPU's part of the shared memory
	VisitTime  time.Duration
	VisitBytes int
	Share      float64
	Highest    Rung
	// Of a session whose samples are visited in place of those of Events, which has the
	// witness alone then: its rings, and what their records are.
	Beside       []perfevent.RingFile
	BesideEvents []perfevent.EventAttr
	Elsewhere    bool // read on another CPU than the ring's: what a test compares with
}

// answer is what a helper says when its threads run, by its standard output.
type answer struct {
	Error string
}

const memoryFile = 3

// Serve is for the main function of every program that calls Start, and comes before
// everything else there: Start runs the program once more, as the helper that has the
// visitors, and then Serve does not return.
func Serve(visitors map[string]New) {
	if os.Getenv(variable) == "" {
		return
	}
	if err := serve(visitors, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "near reader:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// stuck is how long a visit may take before the helper ends: its visitor does not heed the
// errors that it gets, or the kernel waits for a page that does not come.
const stuck = 2 * time.Second

func serve(visitors map[string]New, in io.Reader, out io.Writer) error {
	// A garbage collector would stop the threads, or let them spin until it goes on, which
	// it can't on a CPU that a real-time thread has.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(math.MaxInt64)
	// A name is worth no error: without it, it is that of the link by which it was run, exe.
	_ = os.WriteFile("/proc/self/comm", []byte("near-reader"), 0)
	var o order
	orders := gob.NewDecoder(in)
	if err := orders.Decode(&o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	threads, err := o.threads(visitors)
	if err != nil {
		return errors.Join(err, gob.NewEncoder(out).Encode(answer{Error: err.Error()}))
	}
	// Each thread keeps a P, and the rest of the program needs some. The runtime changes the
	// number no more by itself, which would stop all threads.
	runtime.GOMAXPROCS(len(threads) + 4)
	var ready sync.WaitGroup
	for _, t := range threads {
		ready.Add(1)
		go t.run(ready.Done)
	}
	ready.Wait()
	if err := gob.NewEncoder(out).Encode(answer{}); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	done := make(chan struct{})
	go func() {
		listen(orders, threads)
		close(done)
	}()
	tick := time.NewTicker(stuck / 4)
	for {
		select {
		case <-done:
			return nil
		case <-tick.C:
		}
		for _, t := range threads {
			began := atomic.LoadUint64(&t.out.began)
			if began != 0 && perfevent.Now() > began+uint64(stuck) {
				return fmt.Errorf("a visit on CPU %d has taken more than %v", t.file.CPU, stuck)
			}
		}
	}
}

// threads makes the threads that the order asks for.
func (o *order) threads(visitors map[string]New) ([]*thread, error) {
	newVisitor := visitors[o.Visitor]
	if newVisitor == nil {
		return nil, fmt.Errorf("the program has no visitor %q", o.Visitor)
	}
	mem, err := unix.Mmap(memoryFile, 0, o.Memory*len(o.Rings), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the shared memory: %w", err)
	}
	// The first write to a page takes so long that the thread would be out of time.
	for at := 0; at < len(mem); at += pageSize {
		mem[at] = 0
	}
	o.Skip = append(o.Skip, uint32(os.Getpid()))
	var threads []*thread
	for i, ring := range o.Rings {
		visitor, err := newVisitor(o.Config)
		if err != nil {
			return nil, fmt.Errorf("visitor %s: %w", o.Visitor, err)
		}
		t, err := newThread(o, ring, visitor, newHandover(mem[i*o.Memory:(i+1)*o.Memory]))
		if err != nil {
			return nil, err
		}
		threads = append(threads, t)
	}
	return threads, nil
}
