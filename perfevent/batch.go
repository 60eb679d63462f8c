package perfevent

import "slices"

// batch is a run of copied records. What their slices hold stands in two blocks
// of memory that are used again. They have batchBytes at most; what does not fit any
// more, at the end of the batch, gets memory of its own.
type batch struct {
	records []Record
	samples []Sample
	words   []uint64
	bytes   []byte
	beside  int   // bytes of memory beside the two blocks
	others  int64 // records that are no samples
	// before is, unless zero, the time before which all records have been
	// handed on with this batch.
	before uint64
}

// add copies a record into the batch, and says whether it is no sample.
func (b *batch) add(record Record) (other bool) {
	switch r := record.(type) {
	case *Sample:
		b.samples = append(b.samples, *r)
		c := &b.samples[len(b.samples)-1]
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

// keepWords and keepBytes copy into the batch's memory.
func (b *batch) keepWords(words []uint64) []uint64 {
	if len(words) == 0 {
		return nil
	}
	if b.words == nil {
		b.words = make([]uint64, 0, batchWords)
	}
	if len(b.words)+len(words) > cap(b.words) {
		b.beside += 8 * len(words)
		return slices.Clone(words)
	}
	from := len(b.words)
	b.words = append(b.words, words...)
	return b.words[from:len(b.words):len(b.words)]
}

func (b *batch) keepBytes(bytes []byte) []byte {
	if len(bytes) == 0 {
		return nil
	}
	if b.bytes == nil {
		b.bytes = make([]byte, 0, batchBytes)
	}
	if len(b.bytes)+len(bytes) > cap(b.bytes) {
		b.beside += len(bytes)
		return slices.Clone(bytes)
	}
	from := len(b.bytes)
	b.bytes = append(b.bytes, bytes...)
	return b.bytes[from:len(b.bytes):len(b.bytes)]
}

// full says that the batch holds enough to be handed on.
func (b *batch) full() bool {
	const sample = 256 // with its place in records
	return len(b.bytes)+8*len(b.words)+b.beside+sample*len(b.records) >= batchBytes
}

func (b *batch) reset() {
	clear(b.records)
	*b = batch{records: b.records[:0], samples: b.samples[:0], words: b.words[:0], bytes: b.bytes[:0]}
}
