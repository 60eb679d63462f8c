package moment

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

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
