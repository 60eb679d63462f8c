package perfevent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLiveBooksBalanceWhenATinyRingLoses(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "4", "4", "2", "2000")
	s := open(t, Process(f.pid()), pageFaults(), Options{RingBytes: os.Getpagesize()})
	enable(t, s)
	f.work(10) // nobody reads meanwhile
	done, cancel := context.WithCancel(context.Background())
	cancel()
	read(t, s, done)
	a, stats := checkBooks(t, s)
	if a.Lost == 0 || a.Received == 0 || stats.RingBytes != os.Getpagesize() {
		t.Errorf("rings of %d bytes: received %d, lost %d", stats.RingBytes, a.Received, a.Lost)
	}
}

func TestLiveTracepointBooksBalance(t *testing.T) {
	needRoot(t)
	const events = "/sys/kernel/tracing/events"
	if _, err := os.Stat(events); err != nil {
		if err := unix.Mount("tracefs", filepath.Dir(events), "tracefs", 0, ""); err != nil {
			t.Skipf("no tracefs: %v", err)
		}
	}
	text, err := os.ReadFile(events + "/raw_syscalls/sys_enter/id")
	if err != nil {
		t.Skipf("no tracepoint raw_syscalls:sys_enter: %v", err)
	}
	var id uint64
	if _, err := fmt.Sscan(string(text), &id); err != nil {
		t.Fatal(err)
	}
	event := Tracepoint(id, "raw_syscalls:sys_enter")
	for _, size := range []int{0, os.Getpagesize()} {
		f := startFaults(t, "8", "8", "8", "1")
		s := open(t, Process(f.pid()), []Sampling{{Event: event, Period: 1, Raw: true}}, Options{RingBytes: size})
		enable(t, s)
		f.work(24)
		raw := 0
		done, cancel := context.WithCancel(context.Background())
		cancel()
		err := s.Read(done, func(rec Record) error {
			if sample, ok := rec.(*Sample); ok {
				// The first field of every tracepoint is its number.
				if len(sample.Raw) < 8 || uint64(sample.Raw[0])|uint64(sample.Raw[1])<<8 != id {
					t.Errorf("raw data %x does not start with the tracepoint's id %d", sample.Raw, id)
				}
				raw++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		a, _ := checkBooks(t, s)
		if raw == 0 || uint64(raw) != a.Received || (size > 0) != (a.Lost > 0) {
			t.Errorf("ring option %d: %d samples, account %+v", size, raw, a)
		}
	}
}
