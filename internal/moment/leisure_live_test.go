package moment

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// mostAhead is the lowest nice value of this program's threads.
func mostAhead(t *testing.T) int {
	t.Helper()
	threads, err := process.Host{}.Threads(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	lowest := math.MaxInt
	for _, tid := range threads {
		if priority, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil { // else it has ended
			lowest = min(lowest, 20-priority)
		}
	}
	return lowest
}

// Others that run would have it look when most waits are over.
func TestLiveWaitsAreReadByAThreadThatGoesAhead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	session, err := perfevent.Open(perfevent.Process(os.Getpid()),
		[]perfevent.Sampling{{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1}}, perfevent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	before := mostAhead(t)
	l, err := newLeisure(session, func(*perfevent.Sample) (bool, uint32) { return true, 0 })
	if err != nil {
		t.Fatal(err)
	}
	go l.run()
	for end := time.Now().Add(testlimit.End); mostAhead(t) != before-ahead; {
		if time.Now().After(end) {
			t.Fatalf("the lowest nice value is %d, want %d", mostAhead(t), before-ahead)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	if after := mostAhead(t); after != before {
		t.Errorf("after it the lowest nice value is %d, want %d", after, before)
	}
}

// What a thread does when the samplings are off is in no ring.
func TestLiveAThreadIsNotKnownToWaitOnceTheSamplingsAreOff(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	cmd := exec.Command("cat") // waits for a line, and prints it
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	work := func() {
		if fmt.Fprintln(stdin, "work"); !lines.Scan() {
			t.Fatal("it has ended")
		}
	}
	tid := uint32(cmd.Process.Pid)
	switches := perfevent.Sampling{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1}
	session, err := perfevent.Open(perfevent.Process(cmd.Process.Pid), []perfevent.Sampling{switches},
		perfevent.Options{Switches: &perfevent.Switches{Sampled: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	l, err := newLeisure(session, func(*perfevent.Sample) (bool, uint32) { return true, 0 })
	if err != nil {
		t.Fatal(err)
	}
	defer l.unmap()
	l.waits.want(tid)
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	isKnownToWait := func(w *wait) bool { return w != nil && w.state == isRead }
	var waiting *wait
	for end := time.Now().Add(testlimit.End); !isKnownToWait(waiting) && time.Now().Before(end); l.look() {
		work()
		l.look()
		for _, waiting = range l.waits.take(func(*wait) bool { return true }, end) {
		}
	}
	if !isKnownToWait(waiting) {
		t.Fatal("it is not known to wait")
	}
	if err := session.Disable(); err != nil {
		t.Fatal(err)
	}
	work()
	if l.look(); isKnownToWait(waiting) {
		t.Error("it has gone on, and is said to wait still")
	}
}
