package perfevent

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLiveCloseTwiceIsNoError(t *testing.T) {
	s, err := Open(Process(unix.Getpid()), []Sampling{{Event: CPUClock(), Frequency: 99, ExcludeKernel: true}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Sessions side by side are hit by the same faults; see Sampling.isShared.
func TestLiveSessionsDoNotDisturbEachOther(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "4", "4", "2", "300")
	first := open(t, Process(f.pid()), pageFaults(), Options{})
	more := pageFaults()
	more[0].Callchain = CallchainMode{Kernel: true, User: true}
	more[0].UserRegs, more[0].UserStack, more[0].Cgroup = ipRegister, 512, true
	second := open(t, Process(f.pid()), more, Options{})
	system := open(t, System(), pageFaults(), Options{})
	sessions := []*Session{first, second, system}
	for _, s := range sessions {
		enable(t, s)
	}
	work := f.work(10)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range sessions {
		read(t, s, done).checkTouched(t, work)
		checkBooks(t, s)
	}
}

func TestLiveContextSwitchesAreRecordedWhenAskedFor(t *testing.T) {
	needRoot(t)
	for _, target := range []string{"process", "system"} {
		f := startFaults(t, "2", "2", "1", "10")
		on := Process(f.pid())
		if target == "system" {
			on = System()
		}
		s := open(t, on, pageFaults(), Options{Switches: new(Switches)})
		enable(t, s)
		out, wide := 0, 0
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			defer cancel()
			f.work(5)
		}()
		err := s.Read(ctx, func(rec Record) error {
			if sw, ok := rec.(*Switch); ok && sw.Header.PID == uint32(f.pid()) {
				if sw.Out {
					out++
				}
				if sw.CPUWide {
					wide++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if out == 0 || (target == "system") != (wide > 0) {
			t.Errorf("%s: %d switches away, %d CPU wide", target, out, wide)
		}
	}
}

func TestLiveNothingIsOpenedOnCPUsThatAreLeftOut(t *testing.T) {
	needRoot(t)
	cpus, err := OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) > 1 {
		s := open(t, System(), pageFaults(), Options{ExternalReader: true, ExcludeCPUs: cpus[1:]})
		if files := s.RingFiles(); len(files) != 1 || files[0].CPU != cpus[0] {
			t.Errorf("rings %+v, want only that of CPU %d", files, cpus[0])
		}
	}
	if s, err := Open(System(), pageFaults(), Options{ExcludeCPUs: cpus}); err == nil {
		s.Close()
		t.Error("a session without CPUs")
	}
}

func TestLiveAPausedCPUCountsNothing(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "2", "0", "0", "100")
	s := open(t, Process(f.pid()), pageFaults(), Options{ExternalReader: true})
	enable(t, s)
	for _, cpu := range s.cpus {
		if err := s.Pause(cpu, true); err != nil {
			t.Fatal(err)
		}
	}
	count := func() uint64 {
		accounts, err := s.Accounts()
		if err != nil {
			t.Fatal(err)
		}
		return accounts[0].Counted
	}
	before := count()
	f.work(2)
	if n := count() - before; n != 0 {
		t.Errorf("%d faults were counted", n)
	}
	for _, cpu := range s.cpus {
		if err := s.Pause(cpu, false); err != nil && !errors.Is(err, unix.ENODEV) {
			t.Fatal(err)
		}
	}
}
