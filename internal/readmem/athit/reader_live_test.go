package athit

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// asCaller makes this test the program whose calls are read.
const asCaller = "RINGTAP_TEST_CALLER"

func TestMain(m *testing.M) {
	helper.Serve(map[string]helper.NewVisitor{Visitor: NewVisitors()})
	if os.Getenv(asCaller) != "" {
		callAll()
		return
	}
	os.Exit(m.Run())
}

// callAll makes calls as fast as it can between one line of its input and the next one.
func callAll() {
	name := [...]byte{'/', 'x', 0}
	lines := make(chan struct{})
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- struct{}{}
		}
		os.Exit(0)
	}()
	for {
		fmt.Println("ready")
		<-lines
		for calling := true; calling; {
			select {
			case <-lines:
				calling = false
			default:
				_, _, _ = unix.Syscall(unix.SYS_READLINKAT, ^uintptr(0), uintptr(unsafe.Pointer(&name)), 0)
			}
		}
	}
}

// A storm of calls puts the reader to rest, and it says since when. Its share is between what it
// takes on this machine to begin and wait, and what the storm takes.
func TestLiveAStormPutsTheReaderToRest(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints are root's")
	}
	tracefs, err := ftrace.Find()
	if err != nil {
		t.Skip(err)
	}
	format, err := tracefs.Format("syscalls", "sys_enter_readlinkat")
	if err != nil {
		t.Skipf("no tracepoints of system calls: %v", err)
	}
	caller := exec.Command("/proc/self/exe")
	caller.Env = append(os.Environ(), asCaller+"=1")
	in, err := caller.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := caller.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, caller)
	defer caller.Wait()
	defer in.Close()
	said := bufio.NewScanner(out)
	said.Scan()
	at := perfevent.Sampling{Event: perfevent.Tracepoint(uint64(format.ID), "syscalls:sys_enter_readlinkat"), Period: 1}
	start := func(share float64) *Reader {
		r := New([]Event{{Pointers: []Pointer{{Offset: format.Field("pathname").Offset, Limit: 100}}}}, Options{share: share})
		if err := r.Start(perfevent.Process(caller.Process.Pid), func(int) perfevent.Sampling { return at }); err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := start(1)
	quiet := r.takes()
	fmt.Fprintln(in)
	stormy := r.takes()
	fmt.Fprintln(in)
	said.Scan()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = start(math.Sqrt(quiet * stormy))
	if since, _ := r.rested(); since != 0 {
		t.Error("it has rested before anything happened")
	}
	began := perfevent.Now()
	fmt.Fprintln(in)
	since, lasted := r.rested()
	for end := time.Now().Add(testlimit.End); since == 0 && time.Now().Before(end); since, lasted = r.rested() {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
	if since < began || since > perfevent.Now() || lasted <= 0 {
		t.Errorf("it rests since %d, for %v", since, lasted)
	}
	t.Logf("quiet it takes %.2f %% of a processor, in the storm %.2f %%, and rested %v after its start", 100*quiet, 100*stormy, time.Duration(since-began))
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// takes is the part of a processor that the reader takes for half a second.
func (r *Reader) takes() (part float64) {
	first, began := r.helper.Load().Accounts(), perfevent.Now()
	time.Sleep(time.Second / 2)
	for i, a := range r.helper.Load().Accounts() {
		part = max(part, float64(a.CPUTime-first[i].CPUTime)/float64(perfevent.Now()-began))
	}
	return part
}
