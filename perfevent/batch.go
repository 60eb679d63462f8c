package perfevent

import "slices"

// batch is a run of copied records, with what their slices hold. Its memory is used again. It
// holds batchBytes, and little more than that in memory.
type batch struct {
	records []Record
	samples arena[Sample]
	words   arena[uint64]
	bytes   arena[byte]
	others  int64 // records that are no samples
	// before is, unless zero, the time before which all records have been
	// handed on with this batch.
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
	used   int // chunks that are full: they have no room for what came next
	length int // of all copies, and of what chunks have left that are full
}

// room returns memory of the arena for n elements. size is the length of a new chunk; more than a
// quarter of that gets a chunk of its own.
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

// add copies a record into the batch, and says whether it is no sample.
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
	case *TextPoke:
		c := *r
		c.Old, c.New = b.keepBytes(r.Old), b.keepBytes(r.New)
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

// recordBytes is what a record takes without what its slices hold: a Sample, or about as much
// for other records, with its place in the batch's list.
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
