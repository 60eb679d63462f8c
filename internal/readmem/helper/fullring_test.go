package helper

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// stopAfter stops a child of the test when it has had at least n context switches, and returns how
// many it has had.
func stopAfter(t *testing.T, pid, n int) int {
	t.Helper()
	switches := func() int {
		status, err := process.Host{}.Status(pid)
		if err != nil {
			t.Fatal(err)
		}
		return int(status.Switches)
	}
	for end := time.Now().Add(testlimit.End); switches() < n; unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil) {
		if time.Now().After(end) {
			t.Fatalf("process %d had %d context switches, want %d", pid, switches(), n)
		}
	}
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(pid, nil, unix.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	// wait4 returns when the process is about to stop. This read returns when it no longer runs
	// (proc_pid_syscall in fs/proc/base.c calls wait_task_inactive).
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid)); err != nil {
		t.Fatal(err)
	}
	return switches()
}

// The kernel reports records that did not fit only with the next record that does. Until then the
// reader itself must notice that the ring was full.
func TestLiveAReadingIsNotExactIfTheRingWasFull(t *testing.T) {
	needRoot(t)
	s := startProgram(t, "hits", "1000000000", "1")
	pid := s.cmd.Process.Pid
	switches := []perfevent.Sampling{{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1, UserRegs: Registers}}
	session, err := openSession(perfevent.Process(pid), switches, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	setup := childSetup{Visitor: "state", Events: session.Events(), Rings: session.RingFiles(), Contexts: make([]sampleContext, 1)}
	setup.setLimits(Options{})
	var one unix.CPUSet
	one.Set(setup.Rings[0].CPU)
	if err := unix.SchedSetaffinity(pid, &one); err != nil {
		t.Fatal(err)
	}
	// This reader has no child. Its threads read when the test calls them.
	r := &Reader{session: session, child: new(child), classifier: classifier{cpus: make([]cpuSwitches, len(setup.Rings))}}
	var threads []*thread
	for _, file := range setup.Rings {
		th, err := newThread(&setup, file, stateVisitor{}, newSharedRing(bytesOf(make([]uint64, setup.SharedBytes/8))))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { th.ring.Close() })
		threads = append(threads, th)
		r.cpus, r.child.rings = append(r.cpus, file.CPU), append(r.child.rings, th.shared)
	}
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	read := func() {
		for _, th := range threads {
			th.read()
		}
		r.drain()
	}
	classify := func(from, to uint64) *pendingReading {
		r.classifier.pending = []*pendingReading{{Reading: Reading{Time: from, TID: uint32(pid)}, began: from, switchedOut: from, ended: to, next: sameRegisters}}
		for {
			if done := r.classifier.takeClassified(); len(done) == 1 {
				return done[0]
			}
			read()
		}
	}
	read()
	last := perfevent.Now()
	fmt.Fprintln(s.stdin, "go")
	defer s.cmd.Process.Kill()
	all := stopAfter(t, pid, 3*ringBytes/300)
	to := perfevent.Now()
	read()
	seen := 0
	for _, cpu := range r.classifier.cpus {
		seen += len(cpu.switchIns)
		for _, in := range cpu.switchIns {
			last = max(last, in.time)
		}
	}
	t.Logf("%d of %d switches were seen, the last one %v before the process was stopped", seen, all, time.Duration(to-last))
	if seen >= all {
		t.Fatal("the rings were not full")
	}
	if r := classify(last+1, to); r.Certainty == Exact {
		t.Errorf("exact, although it ran %d more times", all-seen)
	}
	read()
	from := perfevent.Now()
	if r := classify(from, perfevent.Now()); r.Certainty != Exact {
		t.Errorf("when the rings are empty: %v, %s", r.Certainty, r.Reason)
	}
}
