package perfevent

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLiveARingIsReadByWhoMapsIt(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "2", "0", "0", "1000")
	s := open(t, Process(f.pid()), pageFaults(), Options{HandOver: true})
	enable(t, s)
	work := f.work(2)
	all := &seen{exits: map[uint32]bool{}}
	d, err := NewDecoder(s.Events())
	if err != nil {
		t.Fatal(err)
	}
	files := s.RingFiles()
	if len(files) != len(s.cpus) {
		t.Fatalf("%d rings of %d CPUs", len(files), len(s.cpus))
	}
	for _, file := range files {
		r, err := MapRing(file)
		if err != nil {
			t.Fatal(err)
		}
		r.Look()
		for b := r.Next(); b != nil; b = r.Next() {
			record, err := d.Decode(b)
			if err != nil {
				t.Errorf("CPU %d: %v", file.CPU, err)
			}
			if sample, ok := record.(*Sample); ok {
				all.samples = append(all.samples, fault{sample.PID, sample.TID, sample.Addr})
			}
		}
		r.Release()
		if n := r.Malformed(); n > 0 {
			t.Errorf("CPU %d: %d malformed", file.CPU, n)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	all.checkTouched(t, work)
}

func TestLiveNothingIsOpenedOnCPUsThatAreLeftOut(t *testing.T) {
	needRoot(t)
	cpus, err := OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) > 1 {
		s := open(t, System(), pageFaults(), Options{HandOver: true, Without: cpus[1:]})
		if files := s.RingFiles(); len(files) != 1 || files[0].CPU != cpus[0] {
			t.Errorf("rings %+v, want only that of CPU %d", files, cpus[0])
		}
	}
	if s, err := Open(System(), pageFaults(), Options{Without: cpus}); err == nil {
		s.Close()
		t.Error("a session without CPUs")
	}
}

func TestLiveAPausedCPUCountsNothing(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "2", "0", "0", "100")
	s := open(t, Process(f.pid()), pageFaults(), Options{HandOver: true})
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
