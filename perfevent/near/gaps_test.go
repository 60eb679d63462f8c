package near

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// stoppedAfter stops a child once it was switched away from so many times, and returns how often it was.
func stoppedAfter(t *testing.T, pid, least int) int {
	t.Helper()
	switches := func() int {
		status, err := process.Host{}.Status(pid)
		if err != nil {
			t.Fatal(err)
		}
		return int(status.Switches)
	}
	for end := time.Now().Add(testlimit.End); switches() < least; unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil) {
		if time.Now().After(end) {
			t.Fatalf("process %d was switched away from %d times, want %d", pid, switches(), least)
		}
	}
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(pid, nil, unix.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	// The wait ends as the process is about to stop. This read ends after it was switched away from
	// (fs/proc/base.c, proc_pid_syscall: wait_task_inactive).
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid)); err != nil {
		t.Fatal(err)
	}
	return switches()
}

// The kernel says that it had no room for records with the next one that has.
func TestLiveAThreadThatRanWhileItsRingWasFullIsNotBelieved(t *testing.T) {
	needRoot(t)
	s := startProgram(t, "hits", "1000000000", "1")
	pid := s.cmd.Process.Pid
	witness := []perfevent.Sampling{{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1, UserRegs: allRegisters}}
	session, err := openWitness(perfevent.Process(pid), witness, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	o := order{Visitor: "state", Events: session.Events(), Rings: session.RingFiles(), Places: make([]place, 1)}
	o.bound(Options{})
	var one unix.CPUSet
	one.Set(o.Rings[0].CPU)
	if err := unix.SchedSetaffinity(pid, &one); err != nil {
		t.Fatal(err)
	}
	// A reader whose threads read when the test says so.
	r := &Reader{session: session, helper: new(helper), judge: judge{cpus: make([]switches, len(o.Rings))}}
	var threads []*thread
	for _, file := range o.Rings {
		th, err := newThread(&o, file, stateVisitor{}, newHandover(bytesOf(make([]uint64, o.Memory/8))))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { th.ring.Close() })
		threads = append(threads, th)
		r.cpus, r.helper.outs = append(r.cpus, file.CPU), append(r.helper.outs, th.out)
	}
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	read := func() {
		for _, th := range threads {
			th.read()
		}
		r.collect()
	}
	verdict := func(from, to uint64) Verdict {
		r.judge.waiting = []*view{{Reading: Reading{Time: from, TID: uint32(pid)}, began: from, out: from, ended: to, follow: sameFollows}}
		for {
			if done := r.judge.ripe(); len(done) == 1 {
				return done[0].Verdict
			}
			read()
		}
	}
	read()
	last := perfevent.Now()
	fmt.Fprintln(s.stdin, "go")
	defer s.cmd.Process.Kill()
	all := stoppedAfter(t, pid, 3*ringBytes/300)
	to := perfevent.Now()
	read()
	seen := 0
	for _, cpu := range r.judge.cpus {
		seen += len(cpu.ins)
		for _, in := range cpu.ins {
			last = max(last, in.time)
		}
	}
	t.Logf("%d of %d switches were seen, the last one %v before the process was stopped", seen, all, time.Duration(to-last))
	if seen >= all {
		t.Fatal("the rings were not full")
	}
	if v := verdict(last+1, to); v.Kind == Exact {
		t.Errorf("it ran %d times more, and is said not to have", all-seen)
	}
	read()
	from := perfevent.Now()
	if v := verdict(from, perfevent.Now()); v.Kind != Exact {
		t.Errorf("when the rings are empty it is %v, %s", v.Kind, v.Reason)
	}
}
