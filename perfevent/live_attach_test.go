package perfevent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

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

func TestLiveCgroupSeesItsProcessesOnly(t *testing.T) {
	needRoot(t)
	dir := filepath.Join(truth.Cgroup2(t), "perfevent-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no cgroup can be made: %v", err)
	}
	defer os.Remove(dir) // for a test that fails before it does so
	in := startFaults(t, "2", "2", "2", "100")
	out := startFaults(t, "2", "2", "2", "100")
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(in.pid())), 0); err != nil {
		t.Fatal(err)
	}
	samplings := pageFaults()
	samplings[0].Cgroup = true
	s := open(t, InCgroup(dir), samplings, Options{})
	enable(t, s)
	var work []touched
	all := during(t, s, func() {
		out.work(6)
		work = in.work(6)
	})
	all.checkTouched(t, work)
	checkBooks(t, s)
	pids := map[uint32]bool{uint32(in.pid()): true}
	for _, f := range all.forks {
		if pids[f.PPID] {
			pids[f.PID] = true
		}
	}
	for _, f := range all.samples {
		if !pids[f.pid] {
			t.Errorf("a sample of process %d, which is not in the cgroup", f.pid)
		}
	}

	// A cgroup that goes away ends Read.
	gone := open(t, InCgroup(dir), samplings, Options{})
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.procs"), []byte(strconv.Itoa(in.pid())), 0); err != nil {
		t.Fatal(err)
	}
	truth.RemoveCgroup(t, dir)
	read(t, gone, t.Context())
}

// Threads come and go while the session is being opened, so some are found late
// and have both inherited and own events.
func TestLiveThreadsBornDuringOpenAreSampledOnce(t *testing.T) {
	needRoot(t)
	ambiguous := 0
	for round := 0; round < testlimit.Calls(5) || ambiguous == 0 && round < 50; round++ {
		t.Run(strconv.Itoa(round), func(t *testing.T) { // whose program ends before the next begins
			f := startFaults(t, "churn", "6", "50")
			s := open(t, Process(f.pid()), pageFaults(), Options{})
			if s.duplicates.ambiguous {
				ambiguous++
			}
			enable(t, s)
			var work []touched
			all := during(t, s, func() { work = f.work(6 * 20) })
			all.checkTouched(t, work)
			a, _ := checkBooks(t, s)
			t.Logf("late threads: %v, duplicates left out: %d of %d", s.duplicates.ambiguous, a.Duplicates, a.Counted)
		})
	}
	if ambiguous == 0 {
		t.Error("no session found a late thread: this test did not test")
	}
}

func TestLiveTooManyThreadsAreWatchedThroughTheWholeSystem(t *testing.T) {
	needRoot(t)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	f := startFaults(t, "30", "4", "3", "50")
	other := startFaults(t, "2", "0", "0", "50")
	low := limit
	low.Cur = 100
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Process(f.pid()), pageFaults(), Options{})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.filter.active() {
		t.Fatal("30 threads fit in 100 file descriptors")
	}
	enable(t, s)
	var work, others []touched
	all := during(t, s, func() { work, others = f.work(37), other.work(2) })
	all.checkTouched(t, work)
	for _, o := range others {
		if slices.ContainsFunc(all.samples, func(f fault) bool { return f.tid == o.tid }) {
			t.Errorf("samples of thread %d of another process", o.tid)
		}
	}
	if a, _ := checkBooks(t, s); a.Filtered < 100 {
		t.Errorf("%d samples were filtered, the other process alone has 100", a.Filtered)
	}
}

// systemWideToo samples a system call of the target, and then of the whole system.
func systemWideToo(t *testing.T) []Sampling {
	t.Helper()
	text, err := os.ReadFile(tracefs(t) + "/events/raw_syscalls/sys_enter/id")
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s := Sampling{Event: Tracepoint(id, "raw_syscalls:sys_enter"), Period: 1, Filter: fmt.Sprintf("id == %d", unix.SYS_GETPRIORITY)}
	wide := s
	wide.SystemWide = true
	return []Sampling{s, wide}
}

// The watched process does nothing, this one makes a system call so many times:
// what is system-wide is seen, what is the target's is not.
func TestLiveASystemWideSamplingSeesMoreThanTheTarget(t *testing.T) {
	needRoot(t)
	const calls = 123
	samplings := systemWideToo(t)
	f := startFaults(t, "30", "4", "3", "50")
	for _, limit := range []uint64{0, 100} { // with the lower one the whole system is watched
		var before unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
		if limit > 0 {
			if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: before.Max}); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(Process(f.pid()), samplings, Options{})
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.filter.active() != (limit > 0) {
			t.Fatalf("limit %d: filtered is %v", limit, s.filter.active())
		}
		enable(t, s)
		for range calls {
			if _, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil {
				t.Fatal(err)
			}
		}
		done, cancel := context.WithCancel(context.Background())
		cancel()
		samples := make([]int, 2)
		err = s.Read(done, func(rec Record) error {
			if sample, ok := rec.(*Sample); ok && sample.PID == uint32(os.Getpid()) {
				samples[sample.Sampling]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if samples[0] != 0 || samples[1] != calls {
			t.Errorf("limit %d: %d samples of the target's sampling, %d of the system-wide one, want 0 and %d", limit, samples[0], samples[1], calls)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f.work(37) // it ends well only after work
}
