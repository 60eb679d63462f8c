package perfevent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/truth"
)

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

func TestLiveRecentSystemWideSamplesAreKept(t *testing.T) {
	needRoot(t)
	const calls = 123
	f := startFaults(t, "2", "0", "0", "50")
	targets := []Target{System(), Process(f.pid())}
	dir := filepath.Join(truth.Cgroup2(t), "perfevent-systemwide-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err == nil {
		t.Cleanup(func() { truth.RemoveCgroup(t, dir) })
		targets = append(targets, InCgroup(dir))
	}
	for _, target := range targets {
		s := open(t, target, systemWideToo(t), Options{})
		r := openRecent(t, s, RecentOptions{})
		start(t, r)
		for range calls {
			if _, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		samples := make([]int, 2)
		err := r.Read().Each(func(rec Record) error {
			if sample, ok := rec.(*Sample); ok && sample.PID == uint32(os.Getpid()) {
				samples[sample.Sampling]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if target.kind == systemTarget {
			want = calls
		}
		if samples[0] != want || samples[1] != calls {
			t.Errorf("%v: %d samples of the target's sampling, %d of the system-wide one, want %d and %d", target, samples[0], samples[1], want, calls)
		}
	}
	f.work(2) // it ends well only after work
}
