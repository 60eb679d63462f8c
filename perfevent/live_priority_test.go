package perfevent

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The thread is another one's equal again once the rings are read.
func TestLiveAReaderIsFavouredWhileARingIsHalfFull(t *testing.T) {
	needRoot(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock: the thread ends with it
		var f niceThread
		nice := func() int {
			n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
			if err != nil {
				t.Error(err)
			}
			return 20 - n
		}
		own := nice()
		for _, step := range []struct {
			pressed bool
			want    int
		}{{false, own}, {true, max(own-nicer, -20)}, {true, max(own-nicer, -20)}, {false, own}} {
			if f.set(step.pressed); nice() != step.want {
				t.Errorf("niceness %d with a ring more than half full %v, want %d", nice(), step.pressed, step.want)
			}
		}
	}()
	<-done
}

func TestLiveARealTimeThreadBecomesWhatItWas(t *testing.T) {
	done := make(chan error)
	go func() { // on a thread of its own, which is left as it should be found
		before, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			done <- err
			return
		}
		u := newRealtime()
		if u.real {
			during, err := unix.SchedGetAttr(0, 0)
			if err != nil || during.Policy != unix.SCHED_FIFO {
				t.Errorf("policy %v, %v", during, err)
			}
		}
		u.leave()
		after, err := unix.SchedGetAttr(0, 0)
		if err == nil && (after.Policy != before.Policy || after.Nice != before.Nice) {
			t.Errorf("policy %d nice %d, before %d nice %d", after.Policy, after.Nice, before.Policy, before.Nice)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A thread that has much to do is one like all others for a second. The period that the
// test makes up is long: what the test itself takes is nothing of it.
func TestLiveABusyThreadIsNotRealTime(t *testing.T) {
	for _, test := range []struct {
		name  string
		idle  time.Duration // of an hour
		waits int           // in a second
		want  bool
	}{
		{"waiting", 54 * time.Minute, 1000, true},
		{"working", 6 * time.Minute, 1000, false},
		{"woken all the time", 54 * time.Minute, 100000, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := newRealtime()
			defer u.leave()
			if !u.real {
				t.Skip("CAP_SYS_NICE: no real-time threads")
			}
			u.since, u.idle, u.waits = time.Now().Add(-time.Hour), test.idle, 3600*test.waits
			waited := 0
			wait := func() error { waited++; return nil }
			if err := u.wait(wait); err != nil || u.real != test.want {
				t.Errorf("real-time %t, want %t, %v", u.real, test.want, err)
			}
			if !test.want {
				if rest := time.Until(u.until); rest > restPeriod {
					t.Errorf("it rests for %v, want %v", rest, restPeriod)
				}
				u.until = u.until.Add(time.Hour)
			}
			if err := u.wait(wait); err != nil || (waited == 2) != test.want {
				t.Errorf("waited for records %d times, %v", waited, err)
			}
			u.until = time.Now()
			if err := u.wait(wait); err != nil || !u.real {
				t.Errorf("afterwards it is not real-time, %v", err)
			}
		})
	}
}
