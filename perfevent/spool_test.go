package perfevent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testlimit"
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

func TestAFullSpoolWaitsAndAnEmptyOneIsUsedAgain(t *testing.T) {
	p := newSpool(2 * batchBytes)
	first, second := p.get(), p.get()
	p.put(first)
	p.put(second)
	got := make(chan *batch)
	go func() { got <- p.get() }()
	select {
	case <-got:
		t.Fatal("a third batch was made")
	case <-time.After(20 * time.Millisecond):
	}
	if b := p.take(); b != first {
		t.Error("the batches come in another order than they were put")
	}
	p.recycle(first)
	if b := <-got; b != first {
		t.Error("the free batch was not used again")
	}
	p.end()
	if p.take() != second || p.take() != nil {
		t.Error("the last batch is not followed by the end")
	}
	p.stop()
	if p.get() != nil {
		t.Error("a batch was handed out after the handler had stopped")
	}
}

// memory returns how many bytes of memory an arena has, for elements of size bytes.
func memory[T any](a *arena[T], size int) (bytes int) {
	for _, c := range a.chunks {
		bytes += size * cap(c)
	}
	return bytes
}

// What waits takes what it may, whatever the size of the samples, and is given back when
// it is not needed any more.
func TestTheSpoolTakesNoMoreThanItsBound(t *testing.T) {
	for _, test := range []struct {
		name   string
		sample Sample
	}{
		{"whole stacks", Sample{Stack: make([]byte, 60000), Callchain: make([]uint64, 127), Regs: Registers{Values: make([]uint64, 24)}}},
		{"stacks of 20,000 bytes", Sample{Stack: make([]byte, 20000), Regs: Registers{Values: make([]uint64, 24)}}},
		{"a storm of allocations", Sample{Stack: make([]byte, 512), Raw: make([]byte, 44), Regs: Registers{Values: make([]uint64, 24)}}},
		{"call chains", Sample{Callchain: make([]uint64, 127)}},
		{"switches", Sample{Raw: make([]byte, 68)}},
	} {
		t.Run(test.name, func(t *testing.T) { testSpoolBound(t, &test.sample) })
	}
}

func testSpoolBound(t *testing.T, sample *Sample) {
	const bound = 64 * batchBytes
	p := newSpool(bound)
	var batches []*batch
	held := 0
	for range bound / batchBytes {
		b := p.get()
		for !b.full() {
			b.add(sample)
		}
		held += memory(&b.bytes, 1) + memory(&b.words, 8) + memory(&b.samples, int(unsafe.Sizeof(Sample{}))) + 16*cap(b.records)
		batches = append(batches, b)
	}
	if limit := bound * 3 / 2; held > limit {
		t.Errorf("a spool of %d bytes holds %d", bound, held)
	}
	for _, b := range batches {
		p.put(b)
		p.recycle(p.take())
	}
	if p.trim(); len(p.free) != len(batches) {
		t.Errorf("%d batches are kept that have just been used", len(p.free))
	}
	for range 16 {
		p.trim()
	}
	if len(p.free) > maxFree || p.made != len(p.free) {
		t.Errorf("%d batches are kept, %d are counted", len(p.free), p.made)
	}
}
