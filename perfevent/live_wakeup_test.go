package perfevent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A reader that is woken by the clock alone reads each ring five times a second,
// and loses what more than a ring holds by then.
func TestLiveAFullRingWakesTheReader(t *testing.T) {
	needRoot(t)
	// 300,000 records of 56 bytes, at about a million a second: 64 rings.
	command, err := StartCommand(exec.Command("perl", "-e", "getppid() for 1..300000"))
	if err != nil {
		t.Skipf("perl: %v", err)
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
	a := accounts[0]
	if a.Received+a.Lost != 300000 || a.Received < 100000 {
		t.Errorf("%d received and %d lost of 300000 in a ring of 4000: the reader was not woken in time", a.Received, a.Lost)
	}
}
