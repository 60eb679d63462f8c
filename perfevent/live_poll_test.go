package perfevent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// getppidVariable has this test binary call getppid(2) in so many bursts, with
// ten milliseconds of sleep after each, and end.
const getppidVariable = "PERFEVENT_TEST_GETPPID"

// getppidBurst is how many calls a burst has.
const getppidBurst = 2000

// A reader that is woken by the clock alone reads each ring five times a second,
// and loses what more than a ring holds by then. The pauses give a reader that is
// woken the time to read, on however slow a machine.
func TestLiveAFullRingWakesTheReader(t *testing.T) {
	needRoot(t)
	// Records of 56 bytes: each burst is half a ring.
	const bursts = 40
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", getppidVariable, bursts))
	command, err := StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(tracefs(t) + "/events/syscalls/sys_enter_getppid/id")
	if err != nil {
		t.Skipf("no tracepoints of system calls: %v", err)
	}
	var id uint64
	if _, err := fmt.Sscan(string(text), &id); err != nil {
		t.Fatal(err)
	}
	event := Tracepoint(id, "syscalls:sys_enter_getppid")
	session, err := Open(Started(command), []Sampling{{Event: event, Period: 1}}, Options{RingBytes: 1 << 18})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := session.Read(ctx, func(Record) error { return nil }); err != nil {
		t.Fatal(err)
	}
	accounts, err := session.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	const calls = bursts * getppidBurst
	if a := accounts[0]; a.Received+a.Lost != calls || a.Received < calls/2 {
		t.Errorf("%d received and %d lost of %d in a ring of 4000: the reader was not woken in time", a.Received, a.Lost, calls)
	}
}
