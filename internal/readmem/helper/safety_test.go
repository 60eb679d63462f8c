package helper

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

func TestLiveAThreadPausesIfSamplesAreTooFrequent(t *testing.T) {
	needRoot(t)
	s, r := startProbed(t, 20000, 0, Options{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		fmt.Fprintln(s.stdin, "go")
		s.lines.Scan() // until it has called them all
	}()
	all := readingsUntil(t, r, done)
	var pauses, samples uint64
	for _, a := range r.Accounts() {
		pauses, samples = pauses+a.Pauses, samples+a.samples
	}
	t.Logf("%d readings, %d samples, %d pauses", len(all), samples, pauses)
	if pauses == 0 {
		t.Error("the thread did not pause")
	}
	if samples == 20000 {
		t.Error("the events stayed on while the thread paused")
	}
}

// A thread without samples reads its ring once per maxWait, however slow the machine is.
func TestLiveThreadsSleepWhenTheTargetHasEnded(t *testing.T) {
	needRoot(t)
	s := startProgram(t, "steady", filepath.Join(t.TempDir(), "notes"))
	r, _ := startTrapped(t, s.cmd.Process.Pid, 99, s.first, false, func(setup *childSetup) { setup.Share = 1 })
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	first := make([]uint64, len(r.child.rings))
	last, rounds := slices.Clone(first), make([]uint64, len(first))
	until := perfevent.Now() + 1e9
	done := make(chan struct{})
	go func() {
		defer close(done)
		for slices.Min(last) < until {
			for i := range last {
				switch now := atomic.LoadUint64(&r.child.rings[i].progress); {
				case first[i] == 0:
					first[i], last[i] = now, now
				case now != last[i]:
					last[i] = now
					rounds[i]++
				}
			}
			unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		}
	}()
	readingsUntil(t, r, done)
	for i, n := range rounds {
		// The target's end may wake it once.
		if passed := last[i] - first[i]; n > passed/uint64(maxWait)+1 {
			t.Errorf("CPU %d: the thread has read its ring %d times in %v", r.cpus[i], n, time.Duration(passed))
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestLiveARealTimeThreadIsNotVisited(t *testing.T) {
	needRoot(t)
	s := startProgram(t, "steady", filepath.Join(t.TempDir(), "notes"))
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	if err := unix.SchedSetAttr(s.cmd.Process.Pid, &attr, 0); err != nil {
		t.Skipf("no real-time threads: %v", err)
	}
	r, _ := startTrapped(t, s.cmd.Process.Pid, 99, s.first, false, nil)
	for _, reading := range readings(t, r, 10) {
		if reading.Reason != RealTime || len(reading.Data) > 0 {
			t.Errorf("%v, %s, %d bytes; want none since it is a real-time thread", reading.Certainty, reading.Reason, len(reading.Data))
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// callerEnv is set for a process of this binary that calls Start. Its value is the pid of the
// target.
const callerEnv = "NEAR_TEST_TARGET"

// runCaller starts a reader of a process's user code. At the first reading it prints the child's
// pid, the certainty and the scheduling class. It reads until its standard input is closed.
func runCaller() {
	pid, _ := strconv.Atoi(os.Getenv(callerEnv))
	clock := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 99, ExcludeKernel: true}
	r, err := Start(perfevent.Process(pid), []perfevent.Sampling{clock}, "state", []byte(os.Args[len(os.Args)-1]), Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	err = r.Read(ctx, func(reading *Reading) error {
		if n++; n == 1 {
			fmt.Println(r.PID(), reading.Certainty, r.Accounts()[0].SchedClass)
			go func() {
				os.Stdin.Read(make([]byte, 1))
				cancel()
			}()
		}
		return nil
	})
	if err == nil {
		err = r.Close()
	}
	fmt.Println(err)
	os.Exit(0)
}

// startCaller starts a process of this binary that reads a busy program. Both run as the given
// user. startCaller returns the pid of the caller's child, and the rest of its first line.
func startCaller(t *testing.T, credential *syscall.Credential) (caller *started, child int, words string) {
	t.Helper()
	self, err := os.Open("/proc/self/exe") // its directory may be closed to that user
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	spin := exec.Command("sh", "-c", "while :; do :; done")
	spin.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Pdeathsig: syscall.SIGKILL}
	if err := spin.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, spin)
	t.Cleanup(func() {
		_ = spin.Process.Kill()
		_ = spin.Wait()
	})
	cmd := exec.Command("/proc/self/fd/3", "0")
	cmd.ExtraFiles = []*os.File{self}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", callerEnv, spin.Process.Pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	caller = startCommand(t, cmd)
	number, words, _ := strings.Cut(caller.first, " ")
	if child, err = strconv.Atoi(number); err != nil {
		t.Fatalf("the caller says %q", caller.first)
	}
	return caller, child, words
}

func TestLiveKillingTheCallerEndsTheChild(t *testing.T) {
	needRoot(t)
	caller, child, words := startCaller(t, nil)
	t.Log(words)
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child)); err != nil || string(name) != "near-reader\n" {
		t.Errorf("the child's name is %q, %v", name, err)
	}
	pidfd, err := unix.PidfdOpen(child, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	if err := caller.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	polled := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(polled, int(testlimit.End.Milliseconds()))
	for err == unix.EINTR {
		n, err = unix.Poll(polled, int(testlimit.End.Milliseconds()))
	}
	if n != 1 || err != nil {
		t.Errorf("the child still runs: %v", err)
	}
}

func TestLiveTheEndOfTheChildIsAnError(t *testing.T) {
	needRoot(t)
	caller, child, _ := startCaller(t, nil)
	if err := unix.Kill(child, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	caller.lines.Scan()
	if text := caller.lines.Text(); text != "the near reader has ended: signal: killed" {
		t.Errorf("the caller says %q", text)
	}
}

func TestLiveAnOrdinaryUserHasALowerSchedClass(t *testing.T) {
	needRoot(t)
	caller, _, words := startCaller(t, &syscall.Credential{Uid: 65534, Gid: 65534})
	if want := "near pinned"; words != want && words != "none pinned" {
		t.Errorf("an ordinary user has %q, want %q", words, want)
	}
	caller.stdin.Close()
	caller.lines.Scan()
	if text := caller.lines.Text(); text != "<nil>" {
		t.Errorf("the end: %s", text)
	}
}
