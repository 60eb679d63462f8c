package perfevent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// errHandlerStopped ends the reading of the rings when the handler has failed.
var errHandlerStopped = errors.New("the handler has stopped")

// readSpooled reads the rings on a new goroutine, and handles the records on the caller's.
func (r *Reader) readSpooled(ctx context.Context, s *Session, handle func(Record) error) error {
	spool := newSpool(r.Spool)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var thread niceThread
		defer thread.set(false)
		s.merge.halfFull = thread.set
		err := r.fillSpool(ctx, s, spool)
		spool.end()
		done <- err
	}()
	handleErr := r.emptySpool(spool, handle)
	if handleErr != nil {
		spool.stop()
		cancel()
	}
	readErr := <-done
	if handleErr != nil {
		return handleErr
	}
	return readErr
}

// fillSpool copies all records into batches. current is nil once the handler has stopped.
func (r *Reader) fillSpool(ctx context.Context, s *Session, spool *spool) error {
	current := spool.get()
	pass := func(before uint64) {
		current.before = before
		spool.put(current)
		current = spool.get()
	}
	last, trim := uint64(0), uint64(0)
	err := r.read(ctx, s, func(record Record) error {
		if current == nil {
			return errHandlerStopped
		}
		if r.BeforeSpool != nil && r.beforeSpool(spool, record) {
			return nil
		}
		spool.waiting.Add(1)
		if current.add(record) {
			spool.others.Add(1)
		}
		if current.full() {
			pass(0)
		}
		return nil
	}, func(before uint64) {
		if now := Now(); now >= trim {
			spool.trim()
			trim = now + trimEvery
		}
		later := r.Round != nil && before != last
		if current != nil && (later || len(current.records) > 0) {
			pass(before)
			last = before
		}
	})
	if current != nil {
		spool.put(current)
	}
	return err
}

// beforeSpool calls BeforeSpool, unless waiting records must be handled first. It returns true if
// the record needs no further handling.
func (r *Reader) beforeSpool(spool *spool, record Record) bool {
	next := spool.waiting.Load() == 0
	if !next {
		if _, ok := record.(*Sample); !ok || spool.others.Load() > 0 {
			return false
		}
	}
	return r.BeforeSpool(record, next)
}

// emptySpool handles the records of all batches.
func (r *Reader) emptySpool(spool *spool, handle func(Record) error) error {
	var thread niceThread
	defer thread.set(false)
	for {
		thread.set(spool.pressed())
		b := spool.take()
		if b == nil {
			return nil
		}
		for _, record := range b.records {
			if err := handle(record); err != nil {
				return err
			}
		}
		if b.before > 0 && r.Round != nil {
			r.Round(b.before)
		}
		spool.recycle(b)
	}
}

// batchBytes is about how much one batch holds: some hundred samples with their stacks.
const batchBytes = 256 << 10

// maxFree empty batches are kept for good. Further ones are dropped, half at a time, if nobody
// needed them for trimEvery nanoseconds.
const (
	maxFree   = 16
	trimEvery = 200_000_000
)

// spool lets a goroutine read the rings while the handler is held up, for example by a page that
// must come from disk, or by the unwind table of a program of a hundred megabytes. The reading
// goroutine copies records into batches, and the handling one takes them. Batches are reused, the
// last one first. Two or three are enough while the handler keeps up. If it does not, the reader
// makes more, up to limit. Then the reader waits, and records that no longer fit in the rings are
// lost and counted, as without a spool.
//
// Making a batch costs ten times as much as filling it with small samples. So the batches made in
// a storm are kept until nobody has needed them for a while: see trim.
type spool struct {
	limit int // batches

	mu      sync.Mutex
	changed sync.Cond // signals changes of the fields below
	full    []*batch  // oldest first
	free    []*batch
	idle    int // batches that have been free since the last trim
	made    int
	ended   bool // put is not called any more
	stopped bool // take is not called any more

	waiting atomic.Int64 // records that are still to be handled
	others  atomic.Int64 // waiting records that are not samples
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

// end notes that no more batches come.
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

// pressed reports whether more than a quarter of limit batches wait.
func (p *spool) pressed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.full) > p.limit/4
}

// recycle takes back a batch that was handled.
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

// stop notes that no more batches are taken.
func (p *spool) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.changed.Broadcast()
}

// batch is a sequence of copied records, with copies of their slices. Its memory is reused. It
// holds about batchBytes, and takes little more memory than that.
type batch struct {
	records []Record
	samples arena[Sample]
	words   arena[uint64]
	bytes   arena[byte]
	others  int64 // records that are no samples
	// before, if not 0, is a time: with this batch, all records before it have been handed
	// on.
	before uint64
}

// Lengths of an arena's chunks. A batch has at most one chunk of each kind that it does not fill.
const (
	chunkSamples = 64
	chunkWords   = 2 << 10
	chunkBytes   = 32 << 10
)

// An arena keeps copies of slices in chunks of memory, which it uses again after reset.
type arena[T any] struct {
	chunks [][]T
	used   int // chunks that are full: they had no room for the next copy
	length int // elements of all copies, plus the unused ones of full chunks
}

// room returns memory of the arena for n elements. size is the length of a new chunk. If n is more
// than a quarter of size, a new chunk has only these n elements.
func (a *arena[T]) room(n, size int) []T {
	for a.used < len(a.chunks) {
		left := cap(a.chunks[a.used]) - len(a.chunks[a.used])
		if left >= n {
			break
		}
		a.length += left
		a.used++
	}
	if a.used == len(a.chunks) {
		if n > size/4 {
			size = n
		}
		a.chunks = append(a.chunks, make([]T, 0, size))
	}
	a.length += n
	c := &a.chunks[a.used]
	from := len(*c)
	*c = (*c)[:from+n]
	return (*c)[from : from+n : from+n]
}

// keep returns a copy of s in the arena's memory, nil if s is empty.
func (a *arena[T]) keep(s []T, size int) []T {
	if len(s) == 0 {
		return nil
	}
	copied := a.room(len(s), size)
	copy(copied, s)
	return copied
}

// reset drops all copies. It keeps chunks of up to limit elements in all.
func (a *arena[T]) reset(limit int) {
	for i := range a.chunks {
		if limit -= cap(a.chunks[i]); limit < 0 {
			a.chunks = slices.Delete(a.chunks, i, len(a.chunks))
			break
		}
		a.chunks[i] = a.chunks[i][:0]
	}
	a.used, a.length = 0, 0
}

// add copies a record into the batch. other is true if the record is not a sample.
func (b *batch) add(record Record) (other bool) {
	switch r := record.(type) {
	case *Sample:
		c := &b.samples.room(1, chunkSamples)[0]
		*c = *r
		c.Callchain = b.keepWords(r.Callchain)
		c.Regs.Values = b.keepWords(r.Regs.Values)
		c.IntrRegs.Values = b.keepWords(r.IntrRegs.Values)
		c.Stack = b.keepBytes(r.Stack)
		c.Raw = b.keepBytes(r.Raw)
		record = c
	case *Mmap:
		c := *r
		c.BuildID, c.Filename = b.keepBytes(r.BuildID), b.keepBytes(r.Filename)
		record = &c
	case *Comm:
		c := *r
		c.Name = b.keepBytes(r.Name)
		record = &c
	case *Fork:
		c := *r
		record = &c
	case *Exit:
		c := *r
		record = &c
	case *Lost:
		c := *r
		record = &c
	case *LostSamples:
		c := *r
		record = &c
	case *Throttle:
		c := *r
		record = &c
	case *Switch:
		c := *r
		record = &c
	case *Namespaces:
		c := *r
		c.Links = slices.Clone(r.Links)
		record = &c
	case *Cgroup:
		c := *r
		c.Path = b.keepBytes(r.Path)
		record = &c
	case *Ksymbol:
		c := *r
		c.Name = b.keepBytes(r.Name)
		record = &c
	}
	b.records = append(b.records, record)
	if _, ok := record.(*Sample); !ok {
		b.others++
		return true
	}
	return false
}

// keepWords returns a copy of words in the batch's memory.
func (b *batch) keepWords(words []uint64) []uint64 { return b.words.keep(words, chunkWords) }

// keepBytes returns a copy of bytes in the batch's memory.
func (b *batch) keepBytes(bytes []byte) []byte { return b.bytes.keep(bytes, chunkBytes) }

// recordBytes is about how much memory a record takes without its slices, including its place in
// batch.records.
const recordBytes = 256

// full reports whether the batch holds enough to be handed on.
func (b *batch) full() bool {
	return b.bytes.length+8*b.words.length+recordBytes*len(b.records) >= batchBytes
}

// reset empties the batch and keeps its memory.
func (b *batch) reset() {
	clear(b.records)
	b.records = b.records[:0]
	b.samples.reset(batchBytes / recordBytes)
	b.words.reset(batchBytes / 8)
	b.bytes.reset(batchBytes)
	b.others, b.before = 0, 0
}
