package snapshot

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

func TestLiveWhoHoldsWhatIsWaitedForIsNamed(t *testing.T) {
	checkHolders(t, startWaits(t, []string{"-O2"}), map[string]string{"wait_ended": "which has ended"})
}

// There threads, children and the owners of locks have other numbers than here. Whether
// an owner has ended is not known.
func TestLiveNumbersOfAnotherPIDNamespaceAreReadThere(t *testing.T) {
	pid := start(t, "waits", []string{"-O2"}, "S", syscall.CLONE_NEWPID)
	s := take(t, Options{}, pid)
	if s.NSPID != 1 {
		t.Errorf("its own number is %d, want 1", s.NSPID)
	}
	for _, thread := range s.Threads {
		checkWait(t, thread)
	}
	checkHolders(t, pid, nil)
}

// checkHolders looks for who holds what the threads of testdata/waits.c wait for; more
// are those that depend.
func checkHolders(t *testing.T, pid int, more map[string]string) {
	t.Helper()
	s := take(t, Options{Locks: true}, pid)
	holders := map[string]string{"wait_mutex": "waits", "wait_timed": "waits", "wait_rwlock": "waits", "wait_flock": "waits", "wait_open_file": "waits",
		"wait_inherits": "waits", "wait_robust": "waits", "wait_left": "wait_right", "wait_right": "wait_left", "wait_self": "wait_self",
		"wait_readers": "an unknown reader"}
	maps.Copy(holders, more)
	for _, thread := range s.Threads {
		got := ""
		if thread.Holder != nil {
			got = thread.Holder.By()
		}
		if want := holders[thread.Comm]; (got == "") != (want == "") || !strings.HasSuffix(strings.TrimSuffix(got, ")"), want) {
			t.Errorf("%s waits for %q, want %q", thread.Comm, got, holders[thread.Comm])
		}
	}
	var circles []string
	for _, circle := range NewWaitGraph([]*Snapshot{s}).Deadlocks() {
		var names []string
		for _, thread := range circle {
			names = append(names, thread.Comm)
		}
		circles = append(circles, strings.Join(names, " "))
	}
	slices.Sort(circles)
	if want := []string{"wait_left wait_right", "wait_self"}; !slices.Equal(circles, want) {
		t.Errorf("deadlocks %q, want %q", circles, want)
	}
}

// What one thread waited for and another held a moment later is no deadlock.
func TestLiveABusyLockIsNoDeadlock(t *testing.T) {
	pid := start(t, "busy", []string{"-O2"}, "S", 0)
	for _, stop := range []bool{false, true} {
		taker := New(Options{Locks: true, Stop: stop})
		defer taker.Close()
		held := 0
		end := time.Now().Add(testlimit.End)
		for i := 0; i < testlimit.Calls(40) || held == 0 && time.Now().Before(end); i++ {
			awaitFutex(t, pid)
			s, err := taker.Take(context.Background(), pid)
			if err != nil {
				t.Fatal(err)
			}
			if circles := NewWaitGraph([]*Snapshot{s}).Deadlocks(); len(circles) > 0 {
				t.Errorf("stop %v: deadlocks %v", stop, circles)
			}
			for _, thread := range s.Threads {
				if h := thread.Holder; h != nil {
					held++
					if h.Ended {
						t.Errorf("stop %v: no thread ends, but %s is held by %s", stop, h.Lock, h.By())
					}
				}
			}
		}
		if held == 0 {
			t.Errorf("stop %v: no holder was found", stop)
		}
	}
}

// The threads of this program wait for one mutex only, so none that waits can hold it.
func TestLiveNoThreadThatWaitsForAMutexHoldsIt(t *testing.T) {
	pid := start(t, "contended", []string{"-O1"}, "S", 0)
	for _, stop := range []bool{false, true} {
		taker := New(Options{Locks: true, Stop: stop})
		defer taker.Close()
		named := 0
		end := time.Now().Add(testlimit.End)
		for i := 0; i < testlimit.Calls(12) || named == 0 && time.Now().Before(end); i++ {
			awaitFutex(t, pid)
			s, err := taker.Take(context.Background(), pid)
			if err != nil {
				t.Fatal(err)
			}
			waiting := make(map[int]bool)
			for _, thread := range s.Threads {
				waiting[thread.TID] = strings.HasPrefix(thread.Call, "futex(")
			}
			for _, thread := range s.Threads {
				if h := thread.Holder; h != nil && h.TID != 0 {
					named++
					if h.Lock.Variable != "contended" {
						t.Errorf("stop %v: the lock is %s, not the variable contended", stop, h.Lock)
					}
					if waiting[h.TID] {
						t.Errorf("stop %v: thread %d waits for the %s, held by %s, which waits for it too", stop, thread.TID, h.Lock, h.By())
					}
				}
			}
		}
		if named == 0 {
			t.Errorf("stop %v: no holder was found", stop)
		}
	}
}

// awaitFutex waits until a thread of a process waits for another one: those that were
// stopped do so again only once they have run.
func awaitFutex(t *testing.T, pid int) {
	t.Helper()
	futex := fmt.Sprintf("%d 0x", syscall.SYS_FUTEX)
	for end := time.Now().Add(testlimit.End); ; time.Sleep(time.Millisecond) {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
		if err != nil || len(files) == 0 || time.Now().After(end) {
			t.Fatalf("none of %d threads waits for another: %v", len(files), err)
		}
		for _, file := range files {
			if call, _ := os.ReadFile(file); strings.HasPrefix(string(call), futex) {
				return
			}
		}
	}
}
