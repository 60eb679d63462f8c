package perfevent

import (
	"testing"
	"time"
	"unsafe"
)

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

// BenchmarkSpool is what a storm of small samples costs on its way through the spool, while so many
// batches wait: a storm comes and goes, and the handler is behind at times.
func BenchmarkSpool(b *testing.B) {
	for _, test := range []struct {
		name    string
		waiting int
	}{{"2 wait", 2}, {"100 wait", 100}} {
		b.Run(test.name, func(b *testing.B) {
			p := newSpool(256 << 20)
			sample := &Sample{Raw: make([]byte, 44)}
			b.ReportAllocs()
			current := p.get()
			waiting := 0
			for b.Loop() {
				p.waiting.Add(1)
				current.add(sample)
				if !current.full() {
					continue
				}
				p.put(current)
				current = p.get()
				if waiting++; waiting == test.waiting {
					for ; waiting > 0; waiting-- {
						p.recycle(p.take())
					}
				}
			}
		})
	}
}
