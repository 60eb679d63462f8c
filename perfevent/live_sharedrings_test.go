package perfevent

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLiveARingIsReadByWhoMapsIt(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "2", "0", "0", "1000")
	s := open(t, Process(f.pid()), pageFaults(), Options{ExternalReader: true})
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

// soonFaults are page faults that wake whoever waits for their ring.
func soonFaults() []Sampling {
	faults := pageFaults()
	faults[0].WakeupEvents = 1
	return faults
}

func TestLiveSharedRingsWakeTheirReaderUntilAnotherOneFollows(t *testing.T) {
	needRoot(t)
	s := open(t, Process(os.Getpid()), soonFaults(), Options{SharedRings: true})
	enable(t, s)
	fault := func() {
		t.Helper()
		page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		page[0] = 1
		if err := unix.Munmap(page); err != nil {
			t.Fatal(err)
		}
	}
	wait := func(arms bool) (woken bool) {
		t.Helper()
		fault()
		woken, err := s.shared.waitFor(sharedTimeout, arms)
		if err != nil {
			t.Fatal(err)
		}
		return woken
	}
	untilWoken := func() {
		t.Helper()
		for range 1000 { // a wait may be over before it has seen that there are records
			if wait(true) {
				return
			}
		}
		t.Fatal("records do not wake their reader")
	}
	isWoken := func(arms bool) bool {
		t.Helper()
		for range 20 { // as records that wake their reader often do not end a wait
			if wait(arms) {
				return true
			}
		}
		return false
	}
	untilWoken()
	if isWoken(false) {
		t.Error("records wake a reader that looks on its own")
	}
	untilWoken()
	if err := s.LetFollow(); err != nil {
		t.Fatal(err)
	}
	if isWoken(true) {
		t.Error("records wake a reader whose rings another one follows")
	}
}
