package perfevent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// The program numbers its calls, and the number is in a register: every call
// must come once, whatever happens to the events meanwhile.
func TestLiveStackGrowsWithoutMissingOrRepeatingAHit(t *testing.T) {
	needRoot(t)
	calls := 50_000
	if testlimit.Emulated() {
		calls = 4000 // the stack grows each 5000 samples of five threads
	}
	pmu, dynamic := hitEvent(t, false), hitTracepoint(t)
	for _, tt := range []struct {
		where    string
		event    Event
		spool    int
		together int // samplings of the event, which grow at once
	}{
		{"system", pmu, 64 << 20, 1}, {"system", dynamic, 0, 2}, {"process", dynamic, 64 << 20, 1}, {"process", dynamic, 0, 2},
		{"thread", pmu, 0, 1},
	} {
		t.Run(fmt.Sprintf("%s %s %d", tt.where, tt.event, tt.spool), func(t *testing.T) {
			children, threads := 1, 5
			if tt.where == "process" {
				children = inheritedChildren(t, children)
				threads = 4 + children
			}
			h := startHits(t, "hit", 2, 2, children, calls, 40000)
			var target Target
			switch tt.where {
			case "process":
				target = Process(h.pid())
			case "thread":
				target, threads = Thread(h.tids...), 2
			}
			var samplings []Sampling
			var all []int
			for i := range tt.together {
				sampling := Sampling{Event: tt.event, Period: 1, UserRegs: argumentRegister, UserStack: 512}
				if tt.where == "thread" {
					sampling.WakeupEvents = 1
				}
				samplings = append(samplings, sampling)
				all = append(all, i)
			}
			s := open(t, target, samplings, Options{RingBytes: 32 << 20})
			enable(t, s)
			ctx, cancel := context.WithCancel(context.Background())
			var called uint64
			go func() {
				defer cancel()
				called, _ = h.call()
			}()
			size, sizes, every := uint32(512), []uint32{2048, 8192, 32768}, uint32(1)
			seen := make([]map[uint32][]bool, tt.together)
			for i := range seen {
				seen[i] = make(map[uint32][]bool)
			}
			stacks := make(map[int]uint64)
			samples, again := make([]uint64, tt.together), 0
			counted := time.Duration(0)
			err := (&Reader{Spool: tt.spool}).Read(ctx, s, func(rec Record) error {
				sample, ok := rec.(*Sample)
				if !ok {
					return nil
				}
				samples[sample.Sampling]++
				stacks[len(sample.Stack)]++
				if len(sample.Stack) != int(size) && s.Grown(sample.Time) {
					t.Errorf("%d bytes of stack are copied; the growth to %d is said to be through", len(sample.Stack), size)
				}
				n := sample.Regs.Values[0]
				seen := seen[sample.Sampling]
				if seen[sample.TID] == nil {
					seen[sample.TID] = make([]bool, calls)
				}
				if seen[sample.TID][n] {
					if again++; again > tt.together*miscounts(tt.event, threads*calls) {
						t.Errorf("call %d of thread %d came twice", n, sample.TID)
					}
				}
				seen[sample.TID][n] = true
				if samples[0]%1000 == 0 {
					running, err := s.Running()
					if err != nil {
						return err
					}
					if now := running[0].Counted; now < counted {
						t.Errorf("the events had counted for %v, now for %v", counted, now)
					} else {
						counted = now
					}
				}
				if len(sizes) > 0 && samples[0]%5000 == 0 {
					var err error
					if every == 1 {
						err = s.SetWakeupEvents(7, all...)
					} else {
						err = s.GrowStack(sizes[0], all...)
					}
					switch {
					case err == nil && every == 1:
						every = 7
					case err == nil:
						size, sizes, every = sizes[0], sizes[1:], 1
						if now := s.Events()[0].Attr; now.Sample_stack_user != size {
							t.Errorf("events copy %d bytes, want %d", now.Sample_stack_user, size)
						}
					case !errors.Is(err, ErrGrowing):
						return err
					}
				}
				return nil
			})
			<-ctx.Done()
			if err != nil {
				t.Fatal(err)
			}
			if called != uint64((4+children)*calls) {
				t.Fatalf("the program called %d times", called)
			}
			accounts, err := s.Accounts()
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range accounts {
				t.Logf("%+v; not grown to %v, copies %v", a, sizes, stacks)
				want := uint64(threads * calls)
				// A lost record may be the double of one that came, while old and new
				// events run and for threads that were born while events were opened.
				// One that an old event counted when it was disabled may have been
				// recorded by the new one only.
				uncounted := a.Counted - a.Received - a.Lost - a.Duplicates
				twice := int64(a.Received + a.Lost - want)
				slack := int64(miscounts(tt.event, threads*calls))
				doubles := !a.Exact
				for _, set := range s.grow.sets {
					doubles = doubles || set.ambiguous
				}
				if len(seen[i]) > threads || a.Received != samples[i] || uncounted > uint64(len(s.grow.sets)*len(s.events)) ||
					twice < -slack || !doubles && twice > slack {
					t.Errorf("%d calls of %d threads: %d samples of %d threads, %+v", want, threads, samples[i], len(seen[i]), a)
				}
			}
		})
	}
}
