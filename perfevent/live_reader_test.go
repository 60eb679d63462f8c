package perfevent

import (
	"context"
	"slices"
	"testing"
	"time"
)

func TestLiveRoundsSayHowFarReadingHasCome(t *testing.T) {
	needRoot(t)
	f := startFaults(t, "2", "2", "0", "200")
	rounds, done := uint64(0), uint64(0)
	ctx, cancel := context.WithCancel(context.Background())
	s := open(t, Process(f.pid()), pageFaults(), Options{})
	reader := Reader{Round: func(before uint64) {
		if before < done {
			t.Errorf("a round goes back by %d ns", done-before)
		}
		done = before
		if rounds++; rounds == 5 {
			cancel()
		}
	}}
	if pids := s.Processes(); !slices.Equal(pids, []int{f.pid()}) {
		t.Errorf("the session says that it watches %v, want %d", pids, f.pid())
	}
	enable(t, s)
	f.work(4)
	err := reader.Read(ctx, s, func(rec Record) error {
		if rec.Common().Time < done {
			t.Errorf("a record of a time that was said to be complete")
		}
		return nil
	})
	if err != nil || rounds < 5 || done == 0 {
		t.Errorf("%d rounds, complete up to %d, %v", rounds, done, err)
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
