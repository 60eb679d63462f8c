package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// awaitPoll waits until bpftrace waits for records, which it does when it has placed all
// its probes.
func awaitPoll(ctx context.Context, t *testing.T, pid int) {
	t.Helper()
	for ctx.Err() == nil {
		if polls(pid) {
			return
		}
		if status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); bytes.Contains(status, []byte("\nState:\tZ")) {
			t.Fatal("bpftrace ends before it waits for records")
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("bpftrace does not come to wait for records")
}

// polls reports whether bpftrace waits for records: it is in ep_poll, or in do_epoll_wait
// where that is a part of it.
func polls(pid int) bool {
	where, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", pid))
	return bytes.Contains(where, []byte("ep_poll")) || bytes.Contains(where, []byte("epoll_wait"))
}

// endBpftrace has bpftrace print its maps and end. Version 0.17 takes an interrupt only
// while it waits for records: it forgets one that comes between two waits, and dies of
// one that comes while it prints.
func endBpftrace(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	often := time.NewTicker(50 * time.Millisecond)
	defer often.Stop()
	for end := time.Now().Add(testlimit.End); ; {
		if polls(cmd.Process.Pid) {
			_ = cmd.Process.Signal(unix.SIGINT)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("bpftrace does not end in order: %v", err)
			}
			return
		case <-often.C:
			if time.Now().After(end) {
				_ = cmd.Process.Kill()
				t.Fatalf("bpftrace has not ended within %v of an interrupt", testlimit.End)
			}
		}
	}
}
