package perfevent

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// The programs number their calls, so that each must be among the samples once, or in the
// kernel's count of the filter that it passes.
func TestLiveHitsThatTheKernelCountsAreNeitherMissedNorCountedTwice(t *testing.T) {
	needRoot(t)
	// Programs run one after the other until both changes were made, and one more: the second change
	// can be made half a second after the first, and when the samples are read is the host's matter.
	calls := testlimit.Calls(20_000)
	const threads = 5
	event := hitTracepoint(t)
	programs := make([]*hits, 20)
	for i := range programs {
		programs[i] = startHits(t, "bursts", 2, 2, 1, calls, 0)
	}
	samplings := []Sampling{{Event: event, Period: 1, UnitWeight: true, UserRegs: argumentRegister}}
	s := open(t, System(), samplings, Options{RingBytes: 32 << 20})
	enable(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	var called uint64
	var changed atomic.Bool
	go func() {
		defer cancel()
		for i, last := 0, false; i < len(programs) && !last; i++ {
			last = changed.Load()
			n, _ := programs[i].call()
			called += n
		}
	}()
	filters := [][]string{{"n & 1"}, {"n & 2 && !(n & 1)", "n & 4 && !(n & 3)"}}
	rests := []string{"!(n & 1)", "!(n & 7)"}
	samples := make(map[uint32][]bool)
	var odd, two, four, all uint64
	err := s.Read(ctx, func(rec Record) error {
		sample, ok := rec.(*Sample)
		if !ok {
			return nil
		}
		n := sample.Regs.Values[0]
		if samples[sample.TID] == nil {
			samples[sample.TID] = make([]bool, calls)
		}
		if samples[sample.TID][n] {
			t.Errorf("call %d of thread %d came twice", n, sample.TID)
		}
		samples[sample.TID][n] = true
		switch all++; {
		case n&1 != 0:
			odd++
		case n&2 != 0:
			two++
		case n&4 != 0:
			four++
		}
		if len(filters) > 0 && all%500 == 0 {
			err := s.CountInKernel(0, filters[0], rests[0])
			if err == nil {
				filters, rests = filters[1:], rests[1:]
				changed.Store(len(filters) == 0)
			} else if !errors.Is(err, ErrGrowing) {
				return err
			}
		}
		return nil
	})
	<-ctx.Done()
	if err != nil {
		t.Fatal(err)
	}
	if called%uint64(threads*calls) != 0 || !changed.Load() {
		t.Fatalf("the programs called %d times, %d changes were not made", called, len(filters))
	}
	accounts, err := s.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	counted, err := s.KernelCounts()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v, counted %d", accounts[0], counted)
	if len(counted) != 3 || slices.Min(counted) == 0 {
		t.Fatalf("the counts are %d", counted)
	}
	a := accounts[0]
	// A hit that an old event counted when it was disabled may be the new one's sample only.
	uncounted := a.Counted - a.Received - a.Duplicates - a.Lost - a.InKernel
	if uncounted > uint64(len(s.grow.sets)*len(s.cpus)) || a.Received != all {
		t.Errorf("%d samples, of %+v", all, a)
	}
	if a.Lost > 0 {
		t.Fatalf("%d samples are lost: the counts can't be compared", a.Lost)
	}
	for _, part := range []struct {
		name               string
		got, counted, want int
	}{
		{"odd", int(odd), int(counted[0]), int(called) / 2},
		{"second bit", int(two), int(counted[1]), int(called) / 4},
		{"third bit", int(four), int(counted[2]), int(called) / 8},
		{"all", int(all), int(a.InKernel), int(called)},
	} {
		if part.got+part.counted != part.want {
			t.Errorf("%s: %d samples and %d counted in the kernel are not %d", part.name, part.got, part.counted, part.want)
		}
	}
}
