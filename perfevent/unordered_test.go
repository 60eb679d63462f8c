package perfevent

import (
	"context"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Records are seen once each, in the ring's own order, whatever of them has been
// handed on by then, and also around the ring's end.
func TestRecordsAreSeenOnceBeforeTheyAreHandedOn(t *testing.T) {
	f := newFakeRing(512, 3*512+400)
	var seen []uint64
	see := func(b []byte) {
		record, err := testDecoder(0).Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, record.Common().Time)
	}
	look := func() {
		f.snapshot()
		f.scan(see)
	}
	look()
	f.write(smallSample(7))
	f.write(smallSample(5)) // of an interrupt, written later
	look()
	look()
	f.write(comm(9, "name"))
	if got := f.times(); !slices.Equal(got, []uint64{5, 7, 9}) {
		t.Errorf("handed on %d", got)
	}
	// What was handed on without having been seen is gone.
	for time := uint64(10); time < 30; time++ {
		if !f.write(smallSample(time)) {
			t.Fatal("the test's ring is too small")
		}
		look()
		if time%3 == 0 {
			f.times()
		}
	}
	want := []uint64{7, 5}
	for time := uint64(10); time < 30; time++ {
		want = append(want, time)
	}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %d\nwant %d", seen, want)
	}
}

func TestSizesThatMakeNoSenseEndTheLook(t *testing.T) {
	f := newFakeRing(512, 0)
	f.write(smallSample(1))
	bad := smallSample(2)
	bad[6], bad[7] = 3, 0
	f.write(bad)
	f.write(smallSample(3))
	n := 0
	f.snapshot()
	f.scan(func([]byte) { n++ })
	f.scan(func([]byte) { n++ })
	if n != 1 {
		t.Errorf("%d records are seen, want 1", n)
	}
}

// What is handed on was seen, and the thread that reads is what it was.
func TestLiveEveryRecordIsSeen(t *testing.T) {
	needRoot(t)
	type place struct {
		time uint64
		tid  uint32
	}
	seen := make(map[place]bool)
	session, err := Open(System(), []Sampling{{Event: Software(SoftwareContextSwitches), Period: 1}}, Options{NoBuffering: true})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var handed []place
	reader := Reader{Spool: 1 << 20, Unordered: func(r Record) {
		if s, ok := r.(*Sample); ok {
			seen[place{s.Time, s.TID}] = true
		}
	}}
	if err := reader.Read(ctx, session, func(r Record) error {
		if s, ok := r.(*Sample); ok {
			if handed = append(handed, place{s.Time, s.TID}); len(handed) == 1000 {
				cancel()
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(handed) == 0 {
		t.Fatal("nothing was recorded")
	}
	for _, p := range handed {
		if !seen[p] {
			t.Fatalf("a sample of %d of thread %d was not seen", p.time, p.tid)
		}
	}
}

func TestLiveARealTimeThreadBecomesWhatItWas(t *testing.T) {
	done := make(chan error)
	go func() { // on a thread of its own, which is left as it should be found
		before, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			done <- err
			return
		}
		u := newRealtime()
		if u.real {
			during, err := unix.SchedGetAttr(0, 0)
			if err != nil || during.Policy != unix.SCHED_FIFO {
				t.Errorf("policy %v, %v", during, err)
			}
		}
		u.leave()
		after, err := unix.SchedGetAttr(0, 0)
		if err == nil && (after.Policy != before.Policy || after.Nice != before.Nice) {
			t.Errorf("policy %d nice %d, before %d nice %d", after.Policy, after.Nice, before.Policy, before.Nice)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A thread that has much to do is one like all others for a second. The period that the
// test makes up is long: what the test itself takes is nothing of it.
func TestLiveABusyThreadIsNotRealTime(t *testing.T) {
	for _, test := range []struct {
		name  string
		idle  time.Duration // of an hour
		waits int           // in a second
		want  bool
	}{
		{"waiting", 54 * time.Minute, 1000, true},
		{"working", 6 * time.Minute, 1000, false},
		{"woken all the time", 54 * time.Minute, 100000, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := newRealtime()
			defer u.leave()
			if !u.real {
				t.Skip("CAP_SYS_NICE: no real-time threads")
			}
			u.since, u.idle, u.waits = time.Now().Add(-time.Hour), test.idle, 3600*test.waits
			waited := 0
			wait := func() error { waited++; return nil }
			if err := u.wait(wait); err != nil || u.real != test.want {
				t.Errorf("real-time %t, want %t, %v", u.real, test.want, err)
			}
			if !test.want {
				if rest := time.Until(u.until); rest > restPeriod {
					t.Errorf("it rests for %v, want %v", rest, restPeriod)
				}
				u.until = u.until.Add(time.Hour)
			}
			if err := u.wait(wait); err != nil || (waited == 2) != test.want {
				t.Errorf("waited for records %d times, %v", waited, err)
			}
			u.until = time.Now()
			if err := u.wait(wait); err != nil || !u.real {
				t.Errorf("afterwards it is not real-time, %v", err)
			}
		})
	}
}
