package perfevent

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// openRecent opens recent samples of a session, and closes them with the test.
func openRecent(t *testing.T, s *Session, opts RecentOptions) *Recent {
	t.Helper()
	r, err := s.OpenRecent(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func start(t *testing.T, r *Recent) {
	t.Helper()
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
}

// stop stops and reads what was kept.
func stop(t *testing.T, r *Recent) (*seen, *Kept) {
	t.Helper()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	kept := r.Read()
	all := &seen{}
	last := uint64(0)
	err := kept.Each(func(rec Record) error {
		if at := rec.Common().Time; at < last {
			t.Errorf("a record is %d ns earlier than the one before", last-at)
		} else {
			last = at
		}
		if sample, ok := rec.(*Sample); ok {
			all.samples = append(all.samples, fault{sample.PID, sample.TID, sample.Addr})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, kept
}

// checkRecent checks that the numbers add up.
func checkRecent(t *testing.T, r *Recent) Account {
	t.Helper()
	accounts, err := r.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	a := accounts[0]
	if r.s.format&unix.PERF_FORMAT_LOST != 0 && !a.Exact {
		t.Errorf("the account is not exact: %+v", a)
	}
	if sum := a.Received + a.Duplicates + a.Lost + a.Overwritten; a.Exact && sum != a.Counted {
		t.Errorf("%d are accounted for of %d: %+v", sum, a.Counted, a)
	}
	return a
}

func TestLiveRecentSamplesAreAllThereWhileTheRingsHoldThem(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "3", "3", "2", "200")
	s := open(t, Process(f.pid()), pageFaults(), Options{})
	r := openRecent(t, s, RecentOptions{})
	start(t, r)
	work := f.work(8)
	all, kept := stop(t, r)
	all.checkTouched(t, work)
	checkComplete(t, r, kept)
	if a := checkRecent(t, r); a.Overwritten != 0 {
		t.Errorf("%d of %d samples were written over", a.Overwritten, a.Counted)
	}
	accounts, err := s.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	if a := accounts[0]; a.Counted != 0 || a.Enabled != 0 {
		t.Errorf("the session's own events ran: %+v", a)
	}
}

// checkComplete checks that all since Start is there.
func checkComplete(t *testing.T, r *Recent, kept *Kept) {
	t.Helper()
	if kept.Full != -1 || kept.Complete != r.started {
		t.Errorf("CPU %d reaches back to %d, began at %d", kept.Full, kept.Complete, r.started)
	}
}

func TestLiveRecentSamplesAreThoseBetweenStartAndStop(t *testing.T) {
	needRoot(t)
	s := open(t, System(), pageFaults(), Options{})
	r := openRecent(t, s, RecentOptions{})
	for range 2 {
		before := startFaults(t, "1", "0", "0", "100").work(1)
		start(t, r)
		work := startFaults(t, "2", "1", "1", "100").work(4)
		all, kept := stop(t, r)
		after := startFaults(t, "1", "0", "0", "100").work(1)
		all.checkTouched(t, work)
		checkComplete(t, r, kept)
		checkRecent(t, r)
		for _, w := range append(before, after...) {
			for _, sample := range all.samples {
				if sample.tid == w.tid && sample.addr >= w.addr && sample.addr < w.addr+w.pages*4096 {
					t.Fatalf("a sample of thread %d, which touched when nothing was kept", w.tid)
				}
			}
		}
	}
}

func TestLiveRecentSamplesAreTheLastOnes(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "1", "0", "0", "5000")
	s := open(t, Process(f.pid()), pageFaults(), Options{})
	r := openRecent(t, s, RecentOptions{MaxRingBytes: 64 << 10})
	start(t, r)
	w := f.work(1)[0]
	all, kept := stop(t, r)
	if kept.Full < 0 || kept.Complete <= r.started {
		t.Errorf("CPU %d reaches back to %d, began at %d", kept.Full, kept.Complete, r.started)
	}
	if a := checkRecent(t, r); a.Overwritten == 0 || a.Received == 0 {
		t.Errorf("nothing was written over: %+v", a)
	}
	// The thread went through its pages in order, and had no more faults but a few.
	next := uint64(0)
	for _, sample := range all.samples {
		if sample.addr < w.addr || sample.addr >= w.addr+w.pages*4096 {
			continue
		}
		if page := (sample.addr - w.addr) / 4096; next == 0 {
			next = page + 1
		} else if page < next {
			t.Fatalf("page %d comes after page %d", page, next-1)
		} else {
			next = page + 1
		}
	}
	if next != w.pages {
		t.Errorf("the last page that is kept is %d of %d", next, w.pages)
	}
}

func TestLiveRecentSamplesOfACgroup(t *testing.T) {
	needRoot(t)
	s := open(t, InCgroup(truth.Cgroup2(t)), pageFaults(), Options{})
	r := openRecent(t, s, RecentOptions{})
	start(t, r)
	f := startFaults(t, "1", "0", "0", "100")
	work := f.work(1)
	all, _ := stop(t, r)
	all.checkTouched(t, work)
	checkRecent(t, r)
}

func TestLiveAHeldCommandMayRunUnsampled(t *testing.T) {
	needRoot(t)
	c, err := StartCommand(exec.Command("true"))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, Started(c), pageFaults(), Options{})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	all := read(t, s, context.Background())
	if len(all.samples) != 0 || !all.exits[uint32(c.PID())] {
		t.Errorf("%d samples, exits %v", len(all.samples), all.exits)
	}
	if state, err := c.Wait(); err != nil || !state.Success() {
		t.Errorf("%v, %v", state, err)
	}
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
