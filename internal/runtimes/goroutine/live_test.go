package goroutine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

const parkVariable = "RINGTAP_PARK"

// TestMain is also the program that TestLive looks at, where there is no compiler.
func TestMain(m *testing.M) {
	switch os.Getenv(parkVariable) {
	case "wait":
		park()
	case "spin":
		parkTurns()
	default:
		os.Exit(m.Run())
	}
}

//go:noinline
func parkReceives(c chan int) { <-c }

//go:noinline
func parkSelects(c chan int) {
	select {
	case <-c:
	case c <- 1:
	}
}

//go:noinline
func parkLocks(mu *sync.Mutex) { mu.Lock() }

//go:noinline
func parkReadLocks(mu *sync.RWMutex) { mu.RLock() }

//go:noinline
func parkWriteLocks(mu *sync.RWMutex) { mu.Lock() }

// The test and the program that it starts are the same file, so these have the same
// addresses in both.
var (
	parkMutex             sync.Mutex
	parkRead, parkWritten sync.RWMutex
)

//go:noinline
func parkSleeps() { time.Sleep(time.Hour) }

//go:noinline
func parkReads(fd int) {
	_, _ = syscall.Read(fd, make([]byte, 1))
}

// parked is how many goroutines stand in each state when all are where they stay.
var parked = map[string]int{"chan receive": 10, "select": 10, "sync.Mutex.Lock": 10, "sleep": 10, "syscall": 10,
	"sync.RWMutex.RLock": 11, "sync.RWMutex.Lock": 1}

// waitParked returns when so many goroutines are in each of the states, by the runtime's own traceback.
func waitParked(states map[string]int) {
	text := make([]byte, 1<<20)
	isParked := func() bool {
		all := text[:runtime.Stack(text, true)]
		for state, n := range states {
			if bytes.Count(all, []byte(" ["+state+"]:\n")) != n {
				return false
			}
		}
		return true
	}
	for !isParked() {
		time.Sleep(time.Millisecond)
	}
}

// park has goroutines at known places.
func park() {
	c, fds := make(chan int), make([]int, 2)
	if err := syscall.Pipe(fds); err != nil {
		panic(err)
	}
	parkMutex.Lock()
	parkWritten.Lock()
	parkRead.RLock()
	parkRead.RLock()
	go parkWriteLocks(&parkRead)
	waitParked(map[string]int{"sync.RWMutex.Lock": 1}) // or the next one would not wait
	go parkReadLocks(&parkRead)
	for range 10 {
		go parkReceives(c)
		go parkSelects(nil)
		go parkLocks(&parkMutex)
		go parkReadLocks(&parkWritten)
		go parkSleeps()
		go parkReads(fds[0])
	}
	waitParked(parked)
	runtime.GC()
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

//go:noinline
func parkSpins(n *int) {
	for {
		*n++
	}
}

// parkTurns has goroutines that take turns to run, since signals stop them.
func parkTurns() {
	runtime.GOMAXPROCS(1)
	for range 2 {
		go parkSpins(new(int))
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// startPark starts this program as another.
func startPark(t *testing.T, what string) *target {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), parkVariable+"="+what)
	return startCommand(t, cmd)
}

func TestLiveGoroutinesStandWhereTheyWerePut(t *testing.T) {
	p := startPark(t, "wait")
	type place struct{ function, state string }
	got := make(map[place]int)
	for _, g := range goroutines(t, p.runtime(t)) {
		names := p.names(t, g.Frames)
		if g.System || g.ID == 1 {
			continue
		}
		if g.End != callchain.Complete {
			t.Errorf("goroutine %d [%s] is in %v (%v) %s", g.ID, g.State(), names, g.End, g.Missing)
		}
		if (g.Status == "syscall") != (g.Thread != 0) {
			t.Errorf("goroutine %d [%s] is on thread %d", g.ID, g.State(), g.Thread)
		}
		for _, name := range names {
			if function, ok := strings.CutPrefix(name, "github.com/ringtap/ringtap/internal/runtimes/goroutine.park"); ok {
				got[place{function, g.State()}]++
			}
		}
	}
	want := map[place]int{
		{"Receives", "chan receive"}: 10, {"Selects", "select"}: 10, {"Locks", "sync.Mutex.Lock"}: 10,
		{"Sleeps", "sleep"}: 10, {"Reads", "syscall"}: 10, {"ReadLocks", "sync.RWMutex.RLock"}: 11, {"WriteLocks", "sync.RWMutex.Lock"}: 1,
	}
	for place, n := range want {
		if got[place] != n {
			t.Errorf("%d goroutines are in %v, want %d; all: %v", got[place], place, n, got)
		}
	}
}

func TestLiveGoroutinesShowTheLocksThatTheyWaitFor(t *testing.T) {
	at := func(mu any) uint64 { return uint64(reflect.ValueOf(mu).Pointer()) }
	want := map[string]map[Lock]int{
		"sync.Mutex.Lock":    {{Kind: "sync.Mutex", Addr: at(&parkMutex)}: 10},
		"sync.RWMutex.Lock":  {{Kind: "sync.RWMutex", Addr: at(&parkRead), Readers: 2}: 1},
		"sync.RWMutex.RLock": {{Kind: "sync.RWMutex", Addr: at(&parkWritten), Writer: true}: 10, {Kind: "sync.RWMutex", Addr: at(&parkRead)}: 1},
	}
	got, channels := make(map[string]map[Lock]int), make(map[Lock]int)
	for _, g := range goroutines(t, startPark(t, "wait").runtime(t)) {
		switch {
		case g.WaitReason == "chan receive" && g.ID != 1 && !g.System:
			channels[g.Lock]++
		case want[g.WaitReason] != nil:
			if got[g.WaitReason] == nil {
				got[g.WaitReason] = make(map[Lock]int)
			}
			got[g.WaitReason][g.Lock]++
		case g.Lock.Kind != "" && !strings.HasPrefix(g.WaitReason, "chan "):
			t.Errorf("goroutine %d [%s] waits for %+v", g.ID, g.State(), g.Lock)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("they wait for %+v, want %+v", got, want)
	}
	if len(channels) != 1 || channels[Lock{}] > 0 {
		t.Errorf("those that receive wait for %+v, want one channel", channels)
	}
}

func TestLiveAGoroutineThatASignalStoppedHasItsStack(t *testing.T) {
	p := startPark(t, "spin")
	r := p.runtime(t)
	const spins = "github.com/ringtap/ringtap/internal/runtimes/goroutine.parkSpins"
	stopped := 0
	for end := time.Now().Add(testlimit.End); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, g := range goroutines(t, r) {
			if !strings.Contains(p.functions(t, g.start)[0], "parkTurns") || g.Status == "running" {
				continue
			}
			var names []string
			for _, f := range g.Frames {
				names = append(names, p.functions(t, f)...)
			}
			if g.End != callchain.Complete || !slices.Contains(names, "runtime.goexit") {
				t.Fatalf("goroutine %d [%s] is in %v, %v", g.ID, g.State(), names, g.End)
			}
			if len(names) > 3 && slices.Equal(names[:3], []string{"runtime.asyncPreempt2", "runtime.asyncPreempt", spins}) {
				stopped++
			}
		}
		if stopped >= 10 {
			return
		}
	}
	t.Errorf("one that waits to run was seen %d times", stopped)
}
