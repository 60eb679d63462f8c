package perfevent

import (
	"slices"
	"sync"
	"sync/atomic"
)

// batchBytes is about how much one batch holds: some hundred samples with
// their stacks.
const batchBytes = 256 << 10

// Of the empty batches, maxFree are kept for good and others until they have not been needed for
// trimEvery nanoseconds.
const (
	maxFree   = 16
	trimEvery = 200_000_000
)

// spool lets the rings be read while the handler is held up: by a page that
// has to come from a disk, by an unwind table of a hundred megabytes' program.
// The reading goroutine copies records into batches, the handling one takes
// them. Batches are used again, the last one first, so that as long as the
// handler keeps up two or three serve for all; when it does not, more are made,
// until limit bytes are waiting. Then the reader waits, and what no longer fits
// in the rings is lost and counted, as without a spool.
//
// To make a batch costs ten times what it takes to fill it with small samples, so that
// those of a storm are kept until nobody has needed them for a while: see trim.
type spool struct {
	limit int // batches

	mu      sync.Mutex
	changed sync.Cond // of what follows
	full    []*batch  // oldest first
	free    []*batch
	idle    int // batches that have been free since the last trim
	made    int
	ended   bool // nothing is put any more
	stopped bool // nothing is taken any more

	waiting atomic.Int64 // records that are still to be handled
	others  atomic.Int64 // of these, those that are no samples
}

func newSpool(bytes int) *spool {
	p := &spool{limit: max(bytes/batchBytes, 2)}
	p.changed.L = &p.mu
	return p
}

// get returns an empty batch, nil if the handler has stopped.
func (p *spool) get() *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.free) == 0 && p.made == p.limit && !p.stopped {
		p.changed.Wait()
	}
	switch n := len(p.free); {
	case p.stopped:
		return nil
	case n > 0:
		b := p.free[n-1]
		p.free = p.free[:n-1]
		p.idle = min(p.idle, n-1)
		return b
	}
	p.made++
	return new(batch)
}

// put hands a batch to the handler.
func (p *spool) put(b *batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.full = append(p.full, b)
	p.changed.Broadcast()
}

// end says that no more batches come.
func (p *spool) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.changed.Broadcast()
}

// take returns the oldest batch, nil after the last.
func (p *spool) take() *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.full) == 0 && !p.ended {
		p.changed.Wait()
	}
	if len(p.full) == 0 {
		return nil
	}
	b := p.full[0]
	p.full = slices.Delete(p.full, 0, 1)
	return b
}

// pressed says that a quarter of what may wait does.
func (p *spool) pressed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.full) > p.limit/4
}

// recycle takes a batch back that was handled.
func (p *spool) recycle(b *batch) {
	p.others.Add(-b.others)
	p.waiting.Add(-int64(len(b.records)))
	b.reset()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, b)
	p.changed.Broadcast()
}

// trim drops half of the batches that nobody has needed since the last trim.
func (p *spool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if spare := p.idle - maxFree; spare > 0 {
		n := (spare + 1) / 2
		p.free = slices.Delete(p.free, 0, n)
		p.made -= n
	}
	p.idle = len(p.free)
}

// stop says that no more batches are taken.
func (p *spool) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.changed.Broadcast()
}
