package atsample

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
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// lowestNice returns the lowest nice value of this program's threads.
func lowestNice(t *testing.T) int {
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

// Otherwise threads that run would delay it until most waits are over.
func TestLiveWaitsAreReadByAThreadWithALowerNiceValue(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	session, err := perfevent.Open(perfevent.Process(os.Getpid()),
		[]perfevent.Sampling{{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1}}, perfevent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	before := lowestNice(t)
	o, err := newOffCPUReader(session, func(*perfevent.Sample) (bool, uint32) { return true, 0 })
	if err != nil {
		t.Fatal(err)
	}
	go o.run()
	for end := time.Now().Add(testlimit.End); lowestNice(t) != before-niceBoost; {
		if time.Now().After(end) {
			t.Fatalf("the lowest nice value is %d, want %d", lowestNice(t), before-niceBoost)
		}
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	if after := lowestNice(t); after != before {
		t.Errorf("after close the lowest nice value is %d, want %d", after, before)
	}
}

// No ring has what a thread does while the samplings are off.
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
			t.Fatal("cat has ended")
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
	o, err := newOffCPUReader(session, func(*perfevent.Sample) (bool, uint32) { return true, 0 })
	if err != nil {
		t.Fatal(err)
	}
	defer o.unmap()
	o.waits.watch(tid)
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	isKnownToWait := func(w *wait) bool { return w != nil && w.state == waitRead }
	var waiting *wait
	for end := time.Now().Add(testlimit.End); !isKnownToWait(waiting) && time.Now().Before(end); o.readRecords() {
		work()
		o.readRecords()
		for _, waiting = range o.waits.readQueued(func(*wait) bool { return true }, end) {
		}
	}
	if !isKnownToWait(waiting) {
		t.Fatal("the thread is not known to wait")
	}
	if err := session.Disable(); err != nil {
		t.Fatal(err)
	}
	work()
	if o.readRecords(); isKnownToWait(waiting) {
		t.Error("the thread has run, and is still known to wait")
	}
}
