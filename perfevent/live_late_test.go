package perfevent

import (
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testlimit"
)

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
