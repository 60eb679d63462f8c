package helper

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

	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/perfevent"
)

// childEnv is the environment variable that marks a process as a child of Start.
const childEnv = "RINGTAP_NEAR_HELPER"

// childSetup is the first message to the child, on its standard input.
type childSetup struct {
	Visitor        string // a key of the map that Serve was given
	Config         []byte // for NewVisitor
	Events         []perfevent.EventAttr
	SwitchSampling int // the sampling in Events that samples switches away from threads
	Contexts       []sampleContext
	Rings          []perfevent.RingFile // one per CPU; the descriptors are the child's
	SkipPIDs       []uint32             // processes that are not visited
	SharedBytes    int                  // each CPU's part of the shared memory
	VisitTime      time.Duration
	VisitBytes     int
	Share          float64
	MaxClass       SchedClass

	// FollowSession sets SessionRings and SessionEvents: samples come from these rings then,
	// and Events has the switch sampling only. Contexts is indexed by the session's samplings.
	SessionRings  []perfevent.RingFile
	SessionEvents []perfevent.EventAttr

	WrongCPU bool // tests only: each thread is pinned to another CPU than its ring's
}

// setupReply is the child's reply, on its standard output, when its threads are running.
type setupReply struct {
	Error string // empty if there is none
}

// sharedMemoryFD is the descriptor of the shared memory in the child.
const sharedMemoryFD = 3

// Serve must be the first call in the main function of every program that calls Start or
// FollowSession. If the process was started by one of them, Serve runs as the child and does not
// return. Otherwise it does nothing. visitors has the visitors by the names that Start uses.
func Serve(visitors map[string]NewVisitor) {
	if os.Getenv(childEnv) == "" {
		return
	}
	if err := serve(visitors, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "near reader:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// stuckAfter is how long a visit may take before the child ends. Such a visitor ignores errors,
// or the kernel waits for a page that does not arrive.
const stuckAfter = 2 * time.Second

// serve is the child. It returns nil when the caller closes in, or ends.
func serve(visitors map[string]NewVisitor, in io.Reader, out io.Writer) error {
	// Garbage collection would stop the threads, or make them spin until it continues. It
	// cannot continue on a CPU that a real-time thread occupies.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(math.MaxInt64)
	// Otherwise ps shows the name of the link that was executed, exe. That is not worth an error.
	_ = os.WriteFile(proc.Live.Self("comm"), []byte("near-reader"), 0)
	var setup childSetup
	messages := gob.NewDecoder(in)
	if err := messages.Decode(&setup); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	threads, err := setup.newThreads(visitors)
	if err != nil {
		return errors.Join(err, gob.NewEncoder(out).Encode(setupReply{Error: err.Error()}))
	}
	// Each thread keeps a P for good, and the other goroutines need some. Since Go 1.25 the
	// runtime adjusts GOMAXPROCS, which stops all threads, unless the program has set it.
	runtime.GOMAXPROCS(len(threads) + 4)
	var ready sync.WaitGroup
	for _, t := range threads {
		ready.Add(1)
		go t.run(ready.Done)
	}
	ready.Wait()
	if err := gob.NewEncoder(out).Encode(setupReply{}); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	done := make(chan struct{})
	go func() {
		relayMessages(messages, threads)
		close(done)
	}()
	tick := time.NewTicker(stuckAfter / 4)
	for {
		select {
		case <-done:
			return nil
		case <-tick.C:
		}
		for _, t := range threads {
			began := atomic.LoadUint64(&t.shared.visitBegan)
			if began != 0 && perfevent.Now() > began+uint64(stuckAfter) {
				return fmt.Errorf("a visit on CPU %d has taken more than %v", t.file.CPU, stuckAfter)
			}
		}
	}
}

// newThreads maps the shared memory and prepares one thread per ring.
func (s *childSetup) newThreads(visitors map[string]NewVisitor) ([]*thread, error) {
	newVisitor := visitors[s.Visitor]
	if newVisitor == nil {
		return nil, fmt.Errorf("the program has no visitor %q", s.Visitor)
	}
	mem, err := unix.Mmap(sharedMemoryFD, 0, s.SharedBytes*len(s.Rings), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the shared memory: %w", err)
	}
	// The first write to a page is slow. During a visit it would use up the visit's time.
	for offset := 0; offset < len(mem); offset += pageSize {
		mem[offset] = 0
	}
	s.SkipPIDs = append(s.SkipPIDs, uint32(os.Getpid()))
	var threads []*thread
	for i, ring := range s.Rings {
		visitor, err := newVisitor(s.Config)
		if err != nil {
			return nil, fmt.Errorf("visitor %s: %w", s.Visitor, err)
		}
		t, err := newThread(s, ring, visitor, newSharedRing(mem[i*s.SharedBytes:(i+1)*s.SharedBytes]))
		if err != nil {
			return nil, err
		}
		threads = append(threads, t)
	}
	return threads, nil
}
