package perfevent

import (
	"context"
	"testing"
	"time"
)

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
