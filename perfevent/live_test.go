package perfevent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testlimit"
)

// during reads a session while work runs, and stops it afterwards.
func during(t *testing.T, s *Session, work func()) *seen {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		work()
	}()
	all := read(t, s, ctx)
	<-done
	return all
}

func TestLiveProcessSeesThreadsAndChildrenOldAndNew(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "4", "4", "3", "500")
	s := open(t, Process(f.pid()), pageFaults(), Options{})
	enable(t, s)
	var work []touched
	all := during(t, s, func() { work = f.work(4 + 4 + 3) })
	all.checkTouched(t, work)
	checkBooks(t, s)

	born := map[uint32]Fork{}
	for _, f := range all.forks {
		born[f.TID] = f
	}
	for i, w := range work {
		fork, ok := born[w.tid]
		if ok != (i >= 4) {
			t.Errorf("toucher %d (thread %d): its birth was recorded: %v", i, w.tid, ok)
		}
		if isThread := fork.PID == uint32(f.pid()); ok && isThread != (i < 8) {
			t.Errorf("toucher %d belongs to process %d", i, fork.PID)
		}
	}
}

func TestLiveThreadSeesNoOtherThread(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "3", "2", "1", "100")
	tids, err := host.Threads(f.pid())
	if err != nil {
		t.Fatal(err)
	}
	tid := tids[len(tids)-1]
	s := open(t, Thread(tid), pageFaults(), Options{})
	enable(t, s)
	var work []touched
	all := during(t, s, func() { work = f.work(6) })
	mine := slices.DeleteFunc(work, func(w touched) bool { return w.tid != uint32(tid) })
	if len(mine) != 1 {
		t.Fatalf("thread %d did not touch", tid)
	}
	all.checkTouched(t, mine)
	for _, f := range all.samples {
		if f.tid != uint32(tid) {
			t.Errorf("a sample of thread %d", f.tid)
		}
	}
	checkBooks(t, s)
}

func TestLiveReadEndsWithItsTarget(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "2", "0", "0", "10")
	tids, err := host.Threads(f.pid())
	if err != nil {
		t.Fatal(err)
	}
	targets := []Target{Process(f.pid()), Thread(tids[1]), Thread(tids[1:]...)}
	sessions := make([]*Session, len(targets))
	for i, target := range targets {
		sessions[i] = open(t, target, pageFaults(), Options{})
	}
	f.work(2)
	f.stdin.Close()
	for i, s := range sessions {
		all := read(t, s, context.Background())
		if !all.exits[uint32(tids[1])] {
			t.Errorf("%s: the end of thread %d was not recorded", targets[i], tids[1])
		}
	}
}

func TestLiveRoundsSayHowFarReadingHasCome(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "2", "2", "0", "200")
	rounds, done := uint64(0), uint64(0)
	ctx, cancel := context.WithCancel(context.Background())
	s := open(t, Process(f.pid()), pageFaults(), Options{})
	reader := Reader{Round: func(before uint64) {
		if before < done {
			t.Errorf("a round goes back by %d ns", done-before)
		}
		done = before
		if rounds++; rounds == 5 {
			cancel()
		}
	}}
	if pids := s.Processes(); !slices.Equal(pids, []int{f.pid()}) {
		t.Errorf("the session says that it watches %v, want %d", pids, f.pid())
	}
	enable(t, s)
	f.work(4)
	err := reader.Read(ctx, s, func(rec Record) error {
		if rec.Common().Time < done {
			t.Errorf("a record of a time that was said to be complete")
		}
		return nil
	})
	if err != nil || rounds < 5 || done == 0 {
		t.Errorf("%d rounds, complete up to %d, %v", rounds, done, err)
	}
}

// Sessions side by side are hit by the same faults; see Sampling.isShared.
func TestLiveSessionsDoNotDisturbEachOther(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "4", "4", "2", "300")
	first := open(t, Process(f.pid()), pageFaults(), Options{})
	more := pageFaults()
	more[0].Callchain = CallchainMode{Kernel: true, User: true}
	more[0].UserRegs, more[0].UserStack, more[0].Cgroup = ipRegister, 512, true
	second := open(t, Process(f.pid()), more, Options{})
	system := open(t, System(), pageFaults(), Options{})
	sessions := []*Session{first, second, system}
	for _, s := range sessions {
		enable(t, s)
	}
	work := f.work(10)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range sessions {
		read(t, s, done).checkTouched(t, work)
		checkBooks(t, s)
	}
}

func TestLiveEndIsSeenWithoutPidfdToo(t *testing.T) {
	f := startFaults(t, "1", "0", "0", "1")
	tids, err := host.Threads(f.pid())
	if err != nil {
		t.Fatal(err)
	}
	process := watched{pid: f.pid(), tid: f.pid(), pidfd: -1}
	thread := watched{pid: f.pid(), tid: tids[len(tids)-1], pidfd: -1}
	if process.hasEnded() || thread.hasEnded() {
		t.Fatal("a process that waits for input has ended")
	}
	f.work(1)
	for end := time.Now().Add(time.Minute); !thread.hasEnded(); {
		if time.Now().After(end) {
			t.Fatal("the end of the thread was not seen")
		}
	}
	if process.hasEnded() {
		t.Error("the process has ended with one of its threads")
	}
	f.stdin.Close()
	for end := time.Now().Add(time.Minute); !process.hasEnded(); { // a zombie: nobody has waited for it
		if time.Now().After(end) {
			t.Fatal("the end of the process was not seen")
		}
	}
}

func TestLiveBooksBalanceWhenATinyRingLoses(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "4", "4", "2", "2000")
	s := open(t, Process(f.pid()), pageFaults(), Options{RingBytes: os.Getpagesize()})
	enable(t, s)
	f.work(10) // nobody reads meanwhile
	done, cancel := context.WithCancel(context.Background())
	cancel()
	read(t, s, done)
	a, stats := checkBooks(t, s)
	if a.Lost == 0 || a.Received == 0 || stats.RingBytes != os.Getpagesize() {
		t.Errorf("rings of %d bytes: received %d, lost %d", stats.RingBytes, a.Received, a.Lost)
	}
}

func TestLiveSystemSeesEveryProcessInOrder(t *testing.T) {
	needRoot(t)
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	// One program on each of two CPUs: a busy scheduler may leave all of one on one.
	var programs []*faults
	for cpu := 0; cpu < 64*len(allowed) && len(programs) < 2; cpu++ {
		if allowed.IsSet(cpu) {
			f := startFaults(t, "4", "4", "4", "1000")
			var one unix.CPUSet
			one.Set(cpu)
			if err := unix.SchedSetaffinity(f.pid(), &one); err != nil {
				t.Fatal(err)
			}
			programs = append(programs, f)
		}
	}
	s := open(t, System(), pageFaults(), Options{})
	enable(t, s)
	var work []touched
	all := during(t, s, func() {
		for _, f := range programs {
			work = append(work, f.work(12)...)
		}
	})
	all.checkTouched(t, work)
	checkBooks(t, s)
	if len(all.cpus) < len(programs) {
		t.Errorf("samples came from CPU %v only", all.cpus)
	}
}

func TestLiveTracepointBooksBalance(t *testing.T) {
	needRoot(t)
	const events = "/sys/kernel/tracing/events"
	if _, err := os.Stat(events); err != nil {
		if err := unix.Mount("tracefs", filepath.Dir(events), "tracefs", 0, ""); err != nil {
			t.Skipf("no tracefs: %v", err)
		}
	}
	text, err := os.ReadFile(events + "/raw_syscalls/sys_enter/id")
	if err != nil {
		t.Skipf("no tracepoint raw_syscalls:sys_enter: %v", err)
	}
	var id uint64
	if _, err := fmt.Sscan(string(text), &id); err != nil {
		t.Fatal(err)
	}
	event := Tracepoint(id, "raw_syscalls:sys_enter")
	for _, size := range []int{0, os.Getpagesize()} {
		f := startFaults(t, "8", "8", "8", "1")
		s := open(t, Process(f.pid()), []Sampling{{Event: event, Period: 1, Raw: true}}, Options{RingBytes: size})
		enable(t, s)
		f.work(24)
		raw := 0
		done, cancel := context.WithCancel(context.Background())
		cancel()
		err := s.Read(done, func(rec Record) error {
			if sample, ok := rec.(*Sample); ok {
				// The first field of every tracepoint is its number.
				if len(sample.Raw) < 8 || uint64(sample.Raw[0])|uint64(sample.Raw[1])<<8 != id {
					t.Errorf("raw data %x does not start with the tracepoint's id %d", sample.Raw, id)
				}
				raw++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		a, _ := checkBooks(t, s)
		if raw == 0 || uint64(raw) != a.Received || (size > 0) != (a.Lost > 0) {
			t.Errorf("ring option %d: %d samples, account %+v", size, raw, a)
		}
	}
}

func TestLiveRegistersAgreeWithTheSample(t *testing.T) {
	needRoot(t)
	s := open(t, System(), []Sampling{{
		Event: CPUClock(), Frequency: 4000, ExcludeIdle: true, UserRegs: ipRegister, UserStack: 4096,
		Callchain: CallchainMode{Kernel: true, User: true},
	}}, Options{})
	enable(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.Patience(time.Minute))
	defer cancel()
	go spin(ctx)
	user, stacks := 0, 0
	err := s.Read(ctx, func(rec Record) error {
		sample, ok := rec.(*Sample)
		if !ok {
			return nil
		}
		switch {
		case sample.Regs.ABI == unix.PERF_SAMPLE_REGS_ABI_NONE:
			if len(sample.Regs.Values) != 0 || len(sample.Stack) != 0 {
				t.Errorf("a task without user registers has %d, and %d bytes of stack", len(sample.Regs.Values), len(sample.Stack))
			}
		case sample.Misc&unix.PERF_RECORD_MISC_CPUMODE_MASK == unix.PERF_RECORD_MISC_USER:
			if user++; user == 500 {
				cancel() // the rings hold more than what comes until it is heard
			}
			if len(sample.Regs.Values) != 1 || sample.Regs.Values[0] != sample.IP {
				t.Errorf("in user mode at %#x the registers are %#x", sample.IP, sample.Regs.Values)
			}
			if n := len(sample.Callchain); n < 2 || !slices.Contains(sample.Callchain, sample.IP) {
				t.Errorf("the callchain of %#x is %#x", sample.IP, sample.Callchain)
			}
			// A copy fails where the stack's page is not in memory.
			if len(sample.Stack) > 0 {
				stacks++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if user == 0 || stacks < user/2 {
		t.Errorf("%d samples in user mode, %d with a stack", user, stacks)
	}
	accounts, err := s.Accounts()
	if err != nil || accounts[0].Lost != 0 || accounts[0].Exact {
		t.Errorf("account %+v, %v", accounts[0], err)
	}
	if stats, err := s.Stats(); err != nil || stats.Malformed != 0 {
		t.Errorf("stats %+v, %v", stats, err)
	}
}

// spin keeps a CPU busy in user mode.
func spin(ctx context.Context) {
	for x := 0; ctx.Err() == nil; {
		for i := range 1_000_000 {
			x += i
		}
	}
}

func TestLiveContextSwitchesAreRecordedWhenAskedFor(t *testing.T) {
	needRoot(t)
	for _, target := range []string{"process", "system"} {
		f := startFaults(t, "2", "2", "1", "10")
		on := Process(f.pid())
		if target == "system" {
			on = System()
		}
		s := open(t, on, pageFaults(), Options{Switches: new(Switches)})
		enable(t, s)
		out, wide := 0, 0
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			defer cancel()
			f.work(5)
		}()
		err := s.Read(ctx, func(rec Record) error {
			if sw, ok := rec.(*Switch); ok && sw.Header.PID == uint32(f.pid()) {
				if sw.Out {
					out++
				}
				if sw.CPUWide {
					wide++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if out == 0 || (target == "system") != (wide > 0) {
			t.Errorf("%s: %d switches away, %d CPU wide", target, out, wide)
		}
	}
}
