package kprobe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// sleepers have so many threads asleep in fcntl_setlk at once: each waits for a
// lock that is given up when all wait. There are two more calls, which don't.
func sleepers(t *testing.T, n int) (run func()) {
	t.Helper()
	path := t.TempDir() + "/lock"
	holder, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { holder.Close() })
	whole := func(kind int16) *unix.Flock_t { return &unix.Flock_t{Type: kind} }
	return func() {
		if err := unix.FcntlFlock(holder.Fd(), unix.F_OFD_SETLKW, whole(unix.F_WRLCK)); err != nil {
			t.Error(err)
			return
		}
		var waiting sync.WaitGroup
		for range n {
			waiting.Go(func() {
				f, err := os.OpenFile(path, os.O_RDWR, 0)
				if err != nil {
					t.Error(err)
					return
				}
				defer f.Close() // gives the lock up
				if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLKW, whole(unix.F_RDLCK)); err != nil {
					t.Error(err)
				}
			})
		}
		awaitBlocked(t, path, n)
		if err := unix.FcntlFlock(holder.Fd(), unix.F_OFD_SETLK, whole(unix.F_UNLCK)); err != nil {
			t.Error(err)
		}
		waiting.Wait()
	}
}

// awaitBlocked waits until so many locks of a file are waited for.
func awaitBlocked(t *testing.T, path string, n int) {
	t.Helper()
	var file unix.Stat_t
	if err := unix.Stat(path, &file); err != nil {
		t.Error(err)
	}
	// "1: -> OFDLCK ADVISORY  READ -1 fe:00:9977880 0 EOF" (proc_locks(5))
	blocked := regexp.MustCompile(fmt.Sprintf(`(?m)-> OFDLCK .*:%d 0 EOF$`, file.Ino))
	for end := time.Now().Add(testlimit.End); ; time.Sleep(10 * time.Millisecond) {
		locks, err := os.ReadFile("/proc/locks")
		waiting := len(blocked.FindAll(locks, -1))
		if waiting == n {
			return
		}
		if err != nil || time.Now().After(end) {
			t.Errorf("%d of %d wait for the lock: %v", waiting, n, err)
			return
		}
	}
}

func TestLiveCallsThatSleepAreFollowedToTheirReturns(t *testing.T) {
	const n = 300
	p := livePlan(t, "r:fcntl_setlk $retval:s32")
	a := attach(t, p, AttachOptions{Target: perfevent.Process(os.Getpid())})
	got := traceHits(t, a, perfevent.Process(os.Getpid()), sleepers(t, n))
	// A call that a signal interrupts returns ERESTARTSYS and begins once more.
	got.texts = slices.DeleteFunc(got.texts, func(text string) bool { return strings.Contains(text, "=-512") })
	// Two are the holder's, and others' do not count.
	if len(got.texts) != n+2 || got.missed != 0 {
		t.Errorf("%d returns of %d, %d missed", len(got.texts), n+2, got.missed)
	}
}

func TestLiveWhatTheKernelMissesIsToldAndMakesUpTheRest(t *testing.T) {
	const n = 300
	p := livePlan(t, "r:fcntl_setlk $retval:s32")
	attach(t, p, AttachOptions{Method: MethodKprobeEvents, Target: perfevent.System()}) // or skip
	probe := p.Sites[0].probe(1)
	probe.MaxActive = 20
	set, err := ftrace.DefineProbes([]ftrace.Probe{probe}, ftrace.ProbeOptions{File: "kprobe_events"})
	if err != nil {
		t.Fatal(err)
	}
	event := perfevent.Tracepoint(uint64(set.Formats[0].ID), set.Group.Name()+":"+probe.Event)
	a := &Attachment{Events: []perfevent.Event{event}, Formats: set.Formats, group: set.Group}
	defer a.Close()
	// A call that a signal interrupts begins once more: the kernel's own count of
	// beginnings has it.
	entries := attach(t, livePlan(t, "p:fcntl_setlk"), AttachOptions{Method: MethodKprobeEvents, Target: perfevent.System()})
	counters, err := perfevent.OpenCounters(perfevent.System(), entries.Events, perfevent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer counters.Close()
	if err := counters.Enable(); err != nil {
		t.Fatal(err)
	}
	got := traceHits(t, a, perfevent.System(), sleepers(t, n))
	calls, err := counters.Read()
	if err != nil {
		t.Fatal(err)
	}
	if got.missed == 0 || uint64(len(got.texts))+got.strangers+got.missed != calls[0] || calls[0] < n+2 || got.account.Lost != 0 {
		t.Errorf("%d returns, %d of others and %d missed of %d calls, at least %d; %d lost", len(got.texts), got.strangers, got.missed, calls[0], n+2, got.account.Lost)
	}
}

func TestLiveHotFunctionsLoseNothingWithoutSayingSo(t *testing.T) {
	for way, n := range map[Method]int{MethodPMU: 15000, MethodKprobeEvents: 15000, MethodBreakpoint: 1000} {
		t.Run(string(way), func(t *testing.T) {
			p := livePlan(t, "p:vfs_fallocate")
			a := attach(t, p, AttachOptions{Method: way, Target: perfevent.System()})
			got := traceHits(t, a, perfevent.System(), func() {
				if err := program(n).Run(); err != nil {
					t.Error(err)
				}
			})
			calls := uint64(callers * n)
			if counted := got.account.Counted - got.strangers + got.missed; counted < calls || exact(way) && counted != calls {
				t.Errorf("%d hits were counted and %d missed of %d", got.account.Counted, got.missed, calls)
			}
			if way != MethodKprobeEvents {
				return
			}
			// Perf was told of every hit that the kernel handled.
			if hits, err := a.Hits(); err != nil || hits[0] != got.account.Counted {
				t.Errorf("%d hits were handled, %d counted, %v", hits, got.account.Counted, err)
			}
		})
	}
}

// killedVariable has the test attach a probe and be killed with it.
const killedVariable = "RINGTAP_TEST_KILLED"

func TestLiveWhatAKilledProcessLeavesTheNextOneRemoves(t *testing.T) {
	p := livePlan(t, "p:vfs_fallocate $arg2")
	if os.Getenv(killedVariable) != "" {
		a := attach(t, p, AttachOptions{Target: perfevent.System()})
		session, err := perfevent.Open(perfevent.System(), []perfevent.Sampling{{Event: a.Events[0], Period: 1}}, perfevent.Options{})
		if err == nil {
			err = session.Enable()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(os.Getpid(), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	attach(t, p, AttachOptions{Target: perfevent.System()}) // or skip
	killed := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	killed.Env = append(os.Environ(), killedVariable+"=1")
	out, err := killed.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !exit.Sys().(interface{ Signaled() bool }).Signaled() {
		t.Fatalf("the process was not killed: %v, %s", err, out)
	}
	if left := ownEvents(t, killed.Process.Pid); left == "" {
		t.Error("a killed process leaves nothing; what is tested here?")
	}
	attach(t, p, AttachOptions{Target: perfevent.System()})
	if left := ownEvents(t, killed.Process.Pid); left != "" {
		t.Errorf("left behind: %s", left)
	}
}
