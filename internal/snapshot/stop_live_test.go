package snapshot

import (
	"context"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// A signal may stop a thread before we do.
func TestLiveAThreadThatIsStoppedLosesNoSignal(t *testing.T) {
	pid := start(t, "signals", []string{"-O2"}, "S", 0)
	taker := New(Options{Stop: true})
	defer taker.Close()
	for range testlimit.Calls(50) {
		s, err := taker.Take(context.Background(), pid)
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range s.Threads {
			if thread.Comm == "lost" {
				t.Fatalf("thread %d has lost a signal", thread.TID)
			}
		}
	}
}

// It would stand still as soon as it wakes.
func TestLiveAThreadThatDoesNotStopIsLetGo(t *testing.T) {
	pid := start(t, "vforks", []string{"-O2"}, "D", 0)
	err := onThread(func() error {
		held, err := stop(context.Background(), []int{pid})
		held.release()
		if len(held) == 0 {
			t.Error("it did stop")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(testlimit.End); traced(t, pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is held still")
		}
	}
}

// traced reports whether a process has a tracer.
func traced(t *testing.T, pid int) bool {
	t.Helper()
	status, err := process.Host{}.Status(pid)
	if err != nil {
		t.Fatal(err)
	}
	return status.TracerPID != 0
}
