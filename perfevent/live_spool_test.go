package perfevent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// The handler waits until three times as much was sampled as a ring holds, and where
// samples are to be lost until some are.
func TestLiveASpoolOutlastsAHandlerThatIsHeldUp(t *testing.T) {
	needRoot(t)
	frequency, ring := uint64(1000), 1<<20
	if testlimit.Emulated() {
		// The reader itself may be held up for long there. Two seconds of samples
		// are still more than the ring holds.
		frequency, ring = 250, 2<<20
	}
	for _, test := range []struct {
		name  string
		spool int
		loses bool
	}{
		{"in place", 0, true},
		{"spooled", 64 << 20, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), testlimit.Patience(time.Minute))
			defer cancel()
			go spin(ctx)
			s := open(t, Process(os.Getpid()), []Sampling{{Event: CPUClock(), Frequency: frequency, UserRegs: ipRegister, UserStack: 8192}},
				Options{RingBytes: ring})
			enable(t, s)
			perSample := 1_000_000_000 / frequency // of the CPU's clock
			held := 3 * uint64(ring) / 8192 * perSample
			var samples, last, heldAt uint64
			err := (&Reader{Spool: test.spool}).Read(ctx, s, func(rec Record) error {
				if at := rec.Common().Time; at < last {
					t.Errorf("a record is %d ns earlier than the one before", last-at)
				} else {
					last = at
				}
				if _, ok := rec.(*Sample); ok {
					samples++
					for samples == 1 {
						accounts, err := s.Accounts()
						if err != nil {
							return err
						}
						a := accounts[0]
						if heldAt == 0 {
							heldAt = a.Counted
						}
						lost := !test.loses || s.format&unix.PERF_FORMAT_LOST == 0 || a.Lost > 0
						if a.Counted > heldAt+held && lost {
							break
						}
						if ctx.Err() != nil {
							return fmt.Errorf("after %v: %+v", testlimit.Patience(time.Minute), a)
						}
						time.Sleep(10 * time.Millisecond)
					}
					if samples == 2*uint64(ring)/8192 {
						cancel() // it has read on for a while
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			accounts, err := s.Accounts()
			if err != nil {
				t.Fatal(err)
			}
			if a := accounts[0]; a.Lost > 0 != test.loses || samples != a.Received {
				t.Errorf("%d samples lost, %d handled of %d received", a.Lost, samples, a.Received)
			}
		})
	}
}

func TestLiveAnErrorOfTheHandlerEndsASpooledRead(t *testing.T) {
	needRoot(t)
	s := open(t, System(), []Sampling{{Event: CPUClock(), Frequency: 2000}}, Options{})
	enable(t, s)
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := (&Reader{Spool: 1}).Read(ctx, s, func(Record) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("Read returned %v, want the handler's error", err)
	}
	if ctx.Err() != nil {
		t.Error("Read went on until its time was over")
	}
}
