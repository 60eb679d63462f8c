package snapshot

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

type build struct {
	name  string
	flags []string
}

// builds are the ways in which testdata/waits.c is built.
var builds = []build{
	{"O0", []string{"-O0"}},
	{"O2", []string{"-O2"}},
	{"O2 frame pointers", []string{"-O2", "-fno-omit-frame-pointer"}},
	{"O2 static", []string{"-O2", "-static"}},
	{"O2 static frame pointers", []string{"-O2", "-fno-omit-frame-pointer", "-static"}},
	{"O1 no PIE", []string{"-O1", "-no-pie"}},
}

// builds32 are those of 32-bit programs.
var builds32 = []build{
	{"i386 O2", []string{"-m32", "-idirafter", "/usr/include/x86_64-linux-gnu", "-O2"}},
	{"i386 O0 no PIE", []string{"-m32", "-idirafter", "/usr/include/x86_64-linux-gnu", "-O0", "-no-pie"}},
}

// startWaits builds and starts testdata/waits.c.
func startWaits(t *testing.T, flags []string) (pid int) {
	t.Helper()
	return start(t, "waits", flags, "S", 0)
}

// start builds and starts a program of testdata, in new namespaces (clone(2)), and
// awaits its main thread in a state; it is gone when the test ends.
func start(t *testing.T, name string, flags []string, state string, namespaces uintptr) (pid int) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, name)
	build := append(slices.Clone(flags), "-g", "-pthread", "-o", program, "testdata/"+name+".c")
	if out, err := exec.Command("gcc", build...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	cmd := exec.Command(program, filepath.Join(dir, "lock"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started, over := make(chan error), make(chan struct{})
	go func() {
		// It is killed as the thread ends that started it, and threads that stop others do.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- cmd.Start()
		<-over
	}()
	t.Cleanup(func() { close(over) })
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	testlimit.Limit(t, cmd)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the program says %q: %v", line, err)
	}
	for end := time.Now().Add(testlimit.End); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil || time.Now().After(end) {
			t.Fatalf("the main thread does not come to rest: %s, %v", stat, err)
		}
		if strings.Contains(string(stat), ") "+state+" ") {
			return cmd.Process.Pid
		}
	}
}

func take(t *testing.T, opts Options, pid int) *Snapshot {
	t.Helper()
	taker := New(opts)
	defer taker.Close()
	s, err := taker.Take(context.Background(), pid)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// waitCalls says of each thread of the program, which has the name of the function that
// it waits in, how its system call reads.
var waitCalls = map[string]string{
	"wait_accept":    `^accept\(\d+ → tcp 127\.0\.0\.1:\d+ listening\)$`,
	"wait_read":      `^read\(\d+ → pipe \d+, 64 bytes\)$`,
	"wait_deep":      `^read\(\d+ → pipe \d+, 64 bytes\)$`,
	"wait_room":      `^read\(\d+ → pipe \d+, 64 bytes\)$`,
	"wait_recv":      `^recvfrom\(\d+ → udp 127\.0\.0\.1:\d+, 100 bytes\)$`,
	"wait_poll":      `^p?poll\(\[\d+ → pipe \d+, \d+ → tcp 127\.0\.0\.1:\d+ listening\], no timeout\)$`,
	"wait_select":    `^p?select6?\(\[\d+ → pipe \d+\], no timeout\)$`,
	"wait_epoll":     `^epoll_p?wait\(\d+ → epoll of \d+ tcp 127\.0\.0\.1:\d+ listening, no timeout\)$`,
	"wait_mutex":     `^futex\(0x[0-9a-f]+, wait, while it is 2, no timeout\)$`,
	"wait_left":      `^futex\(0x[0-9a-f]+, wait, while it is 2, no timeout\)$`,
	"wait_right":     `^futex\(0x[0-9a-f]+, wait, while it is 2, no timeout\)$`,
	"wait_cond":      `^futex\(0x[0-9a-f]+, wait, while it is 0, no timeout\)$`,
	"wait_rwlock":    `^futex\(0x[0-9a-f]+, wait, while it is \d+, no timeout\)$`,
	"wait_sem":       `^futex\(0x[0-9a-f]+, wait, while it is 0, no timeout\)$`,
	"wait_sleep":     `^clock_nanosleep\(27h46m40s\)$`,
	"wait_self":      `^futex\(0x[0-9a-f]+, wait, while it is 2, no timeout\)$`,
	"wait_ended":     `^futex\(0x[0-9a-f]+, wait, while it is 2, no timeout\)$`,
	"wait_inherits":  `^futex\(0x[0-9a-f]+, lock PI2?, no timeout\)$`,
	"wait_robust":    `^futex\(0x[0-9a-f]+, wait \(shared between processes\), while it is \d+, no timeout\)$`,
	"wait_readers":   `^futex\(0x[0-9a-f]+, wait, while it is \d+, no timeout\)$`,
	"wait_timed":     `^(futex\(0x[0-9a-f]+, wait, while it is 2, timeout in 27h.*\)|restart_syscall\(.*\))$`,
	"wait_open_file": `^fcntl\(\d+ → /.*/lock, wait for a lock\)$`,
	"wait_flock":     `^flock\(\d+ → /.*/lock, exclusive\)$`,
	"wait_child":     `^wait4\(child \d+ → wait_child\)$`,
	"wait_word":      `^futex\(0x[0-9a-f]+, wait, while it is \d+, no timeout\)$`,
	"wait_signal":    `^rt_sigsuspend\(\)$`,
	"wait_handler":   `^p?p(ause|oll)\(.*\)$`,
	"wait_aligned":   `^read\(\d+ → pipe \d+, 64 bytes\)$`,
	"wait_run":       `^$`,
	"waits":          `^p?p(ause|oll)\(.*\)$`,
}

// functions are the names of a thread's user frames, leaf first.
func functions(t *Thread) (names []string) {
	for i := range t.User {
		names = append(names, t.User[i].Name)
	}
	return names
}

func TestLiveEveryWaitIsFoundWithItsWholeStack(t *testing.T) {
	for _, build := range builds {
		t.Run(build.name, func(t *testing.T) {
			pid := startWaits(t, build.flags)
			for _, stop := range []bool{false, true} {
				s := take(t, Options{Stop: stop}, pid)
				// On a busy machine a thread may not stop in time. Its program's calls are
				// restarted ones then, so that the next look is at another program.
				for end := time.Now().Add(2 * time.Minute); slices.ContainsFunc(s.Threads, didNotStop); s = take(t, Options{Stop: stop}, startWaits(t, build.flags)) {
					if time.Now().After(end) {
						t.Fatal("in each program there is a thread that does not stop")
					}
				}
				if len(s.Threads) != len(waitCalls) {
					t.Errorf("stopped %v: %d threads, want %d", stop, len(s.Threads), len(waitCalls))
				}
				for _, thread := range s.Threads {
					checkWait(t, thread)
				}
			}
		})
	}
}

// didNotStop reports whether a thread ran for longer than ringtap waits for it to stop.
func didNotStop(t *Thread) bool { return strings.HasPrefix(t.Missing, "it did not stop") }

// checkWait holds a thread to what its name says of it.
func checkWait(t *testing.T, thread *Thread) {
	t.Helper()
	name := thread.Comm
	call, ok := waitCalls[name]
	if !ok || !regexp.MustCompile(call).MatchString(thread.Call) {
		t.Errorf("%s is in %q, want %s", name, thread.Call, call)
	}
	if running := name == "wait_run"; (thread.State == 'R') != running || !running && thread.State != 'S' {
		t.Errorf("%s is in the state %c", name, thread.State)
	}
	var want []string
	for _, function := range functions(thread) {
		if strings.HasPrefix(function, "wait_") || function == "main" {
			want = append(want, function)
		}
	}
	expect := []string{name, name + "_thread"}
	switch name {
	case "waits":
		expect = []string{"main"}
	case "wait_room":
		expect = []string{"wait_read_in_room", name, name + "_thread"}
	case "wait_deep":
		expect = append(append([]string{"wait_read"}, slices.Repeat([]string{"wait_deep"}, 31)...), "wait_deep_thread")
	}
	if thread.Missing == notRun { // others had the CPUs all the time
		expect = nil
	}
	if !slices.Equal(want, expect) || thread.Truncated {
		t.Errorf("%s: the stack is %q, truncated: %v, missing: %q", name, functions(thread), thread.Truncated, thread.Missing)
	}
	if os.Geteuid() == 0 && name != "wait_run" && (len(thread.Kernel) == 0 || !strings.Contains(thread.Kernel[len(thread.Kernel)-1], "entry_SYSCALL") && !strings.Contains(thread.Kernel[len(thread.Kernel)-1], "el0")) {
		t.Errorf("%s: the kernel stack is %q", name, thread.Kernel)
	}
}

// After a stop, or a debugger, the kernel goes on with some calls by restart_syscall(2).
func TestLiveACallThatIsRestartedIsNamed(t *testing.T) {
	pid := startWaits(t, []string{"-O2"})
	for _, step := range []struct {
		signal syscall.Signal
		state  byte // of the threads after it
	}{{syscall.SIGSTOP, 'T'}, {syscall.SIGCONT, 'S'}} {
		if err := syscall.Kill(pid, step.signal); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(testlimit.End); !allIn(take(t, Options{}, pid), step.state); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not all are in the state %c after signal %v", step.state, step.signal)
			}
		}
	}
	want := map[string]string{
		"wait_timed": `^futex\(0x[0-9a-f]+, wait, while it is 2, timeout in 27h.*\) \(restarted\)$`,
		"wait_sleep": `^clock_nanosleep\(27h46m[0-9.]+s\) \(restarted\)$`,
	}
	s := take(t, Options{Locks: true}, pid)
	for _, thread := range s.Threads {
		call, ok := want[thread.Comm]
		if ok && !regexp.MustCompile(call).MatchString(thread.Call) {
			t.Errorf("%s is in %q, want %s", thread.Comm, thread.Call, call)
		}
		if thread.Comm == "wait_timed" && thread.Holder == nil {
			t.Errorf("it is not known who holds what %s waits for", thread.Comm)
		}
	}
}

// allIn reports whether all threads are in a state but the one that runs.
func allIn(s *Snapshot, state byte) bool {
	return !slices.ContainsFunc(s.Threads, func(t *Thread) bool { return t.State != state && (state == 'T' || t.Comm != "wait_run") })
}

// The program is not to notice: whoever waits goes on waiting, and nobody traces it.
func TestLiveALookMovesNoThread(t *testing.T) {
	pid := startWaits(t, []string{"-O2"})
	taker := New(Options{})
	defer taker.Close()
	var still Still
	for look := 1; look <= 20; look++ {
		s, err := taker.Take(context.Background(), pid)
		if err != nil {
			t.Fatal(err)
		}
		still = s.Since(still)
		for _, thread := range s.Threads {
			if thread.State != 'R' && still.Threads[thread.TID].Looks != look {
				t.Errorf("look %d: %s has moved", look, thread.Comm)
			}
		}
	}
}

// lastRan returns what the kernel says of when a thread ran last: 0 if it was moved to another
// CPU since then.
func lastRan(tid int) (time.Duration, bool) {
	text, err := process.Host{}.Read(tid, "sched")
	if err != nil {
		return 0, false
	}
	return schedValue(text, "se.exec_start")
}

func TestLiveHowLongAThreadWaitsIsKnownOnEveryCPU(t *testing.T) {
	begin := time.Now()
	pid := startWaits(t, []string{"-O2"})
	waited := make(map[int]time.Duration) // by thread, when it was looked at first
	for end := begin.Add(testlimit.End); ; time.Sleep(10 * time.Millisecond) {
		s, still := take(t, Options{}, pid), ""
		for _, thread := range s.Threads {
			before, seen := waited[thread.TID]
			switch {
			case thread.State == 'R':
			case !thread.Known:
				if ran, ok := lastRan(thread.TID); !ok {
					t.Skip("CONFIG_SCHED_DEBUG: the kernel does not tell when a thread ran last")
				} else if ran != 0 {
					t.Errorf("%s ran last at %v of its CPU's clock, and it is not known how long it waits", thread.Comm, ran)
				}
			case thread.Waited > time.Since(begin) || thread.Waited < before:
				t.Errorf("%s waits for %v, it did for %v, and has been there for %v", thread.Comm, thread.Waited, before, time.Since(begin))
			case !seen:
				waited[thread.TID] = thread.Waited
				still = thread.Comm
			// The CPU's clock goes on in ticks, and not at all while it is idle.
			case thread.Waited < before+100*time.Millisecond:
				still = thread.Comm
			}
		}
		if still == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s waits, but not for longer and longer", still)
		}
	}
}
