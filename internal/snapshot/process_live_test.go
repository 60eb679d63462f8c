package snapshot

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// Memory and files of such a process are only to be had by its other threads' ids.
func TestLiveAProcessWhoseMainThreadHasEndedIsLookedAt(t *testing.T) {
	pid := start(t, "ended", []string{"-O2"}, "Z", 0)
	var s *Snapshot
	var left *Thread
	for end := time.Now().Add(testlimit.End); left == nil || left.State != 'S'; time.Sleep(time.Millisecond) {
		if s = take(t, Options{}, pid); len(s.Threads) != 2 || s.Ended() || s.Command == "" || time.Now().After(end) {
			t.Fatalf("%d threads, ended %v, command %q; want one of two left, and waiting", len(s.Threads), s.Ended(), s.Command)
		}
		left = s.Threads[slices.IndexFunc(s.Threads, func(t *Thread) bool { return t.State != 'Z' })]
	}
	if ok, _ := regexp.MatchString(`^read\(\d+ → pipe \d+, 10 bytes\)$`, left.Call); !ok {
		t.Errorf("it is in %q", left.Call)
	}
	if got := functions(left); !slices.Contains(got, "wait_thread") || left.Truncated {
		t.Errorf("its stack is %q, truncated: %v", got, left.Truncated)
	}
}

// It can't be stopped, and is looked at all the same.
func TestLiveAThreadInUninterruptibleSleepHasItsStack(t *testing.T) {
	pid := start(t, "vforks", []string{"-O2"}, "D", 0)
	waits := regexp.MustCompile(`^(vfork|clone)\(until the child runs a program or ends\)$`)
	for _, stop := range []bool{false, true} {
		s := take(t, Options{Stop: stop}, pid)
		thread := s.Threads[0]
		if !waits.MatchString(thread.Call) || thread.State != 'D' {
			t.Errorf("stop %v: state %c, in %q", stop, thread.State, thread.Call)
		}
		if got := functions(thread); len(got) == 0 || !strings.Contains(got[0], "vfork") || thread.Missing != "" {
			t.Errorf("stop %v: the stack is %q, missing %q", stop, got, thread.Missing)
		}
	}
}

func TestLiveAThreadOfTheKernelIsInNoSystemCall(t *testing.T) {
	const kthreadd = 2
	if (process.Host{}).Comm(kthreadd) != "kthreadd" {
		t.Skip("process 2 is not kthreadd")
	}
	for _, stop := range []bool{false, true} {
		s := take(t, Options{Stop: stop}, kthreadd)
		if thread := s.Threads[0]; thread.Call != "" || len(thread.Kernel) == 0 || !s.Kernel() {
			t.Errorf("stop %v: in %q, kernel stack %q", stop, thread.Call, thread.Kernel)
		}
	}
}

func TestLiveAProcessThatIsNotThereIsSaidToBe(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	taker := New(Options{})
	defer taker.Close()
	var gone *GoneError
	if _, err := taker.Take(context.Background(), cmd.Process.Pid); !errors.As(err, &gone) || gone.PID != cmd.Process.Pid {
		t.Errorf("a look at a process that has ended: %v", err)
	}
}

func TestLiveAThreadThatEndedLeavesTheOthersTheirSamples(t *testing.T) {
	taker := New(Options{})
	defer taker.Close()
	l := &look{Taker: taker, files: threadFiles{pid: os.Getpid()}}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	session, err := l.openClock([]int{ended.Process.Pid, os.Getpid()}, stack.Stacks{User: true})
	if err != nil {
		t.Fatal(err)
	}
	session.Close()
}
