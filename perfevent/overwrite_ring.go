package perfevent

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"
)

// backward is a ring that the kernel writes from its end to its begin, round and
// round, over what is oldest (attr.write_backward, mapped without PROT_WRITE). head
// falls with each record, so that the last one begins there and older ones follow;
// written forward, nothing would say where a record begins. The chain ends at the
// one that was cut into last.
//
// It is walked while nothing writes to it.
type backward struct {
	*ring
	read uint64 // head when what lies from there on had been read, or was let go
}

// forget lets go of what is in the ring.
func (b *backward) forget() { b.read = atomic.LoadUint64(b.head) }

// kept lists the records in the ring, the last one first, and says whether others
// have been written over. A record whose size can't be believed ends the list.
func (b *backward) kept() (entries []entry, overwritten bool) {
	head := atomic.LoadUint64(b.head)
	kept := b.read - head
	if overwritten = kept > uint64(len(b.data)); overwritten {
		kept = uint64(len(b.data))
	}
	for at := uint64(0); at < kept; {
		pos := head + at
		size, isSample := b.uint64At(pos)>>48, b.isSample(pos)
		if size < headerSize || size%8 != 0 && !isSample || at+size > kept && !overwritten {
			b.malformed++
			return entries, true
		}
		if at+size > kept {
			break // the oldest, cut into
		}
		timeAt, least := size-trailerTimeAt, uint64(minOtherSize)
		if isSample {
			timeAt, least = sampleTimeAt, minSampleSize
		}
		at += size
		if size < least {
			b.malformed++
			continue
		}
		entries = append(entries, entry{pos: pos, size: uint32(size), time: b.uint64At(pos + timeAt)})
	}
	return entries, overwritten
}

// contexts is how many can interrupt one another on a CPU: a task, a softirq, an
// interrupt, an NMI.
const contexts = 4

// since is the time from which on no record is missing, given those of kept when
// others were written over. An interrupt writes its record, with a later time, before
// the record that it has interrupted, and what is written after both is later than
// either.
func since(entries []entry) uint64 {
	latest := uint64(0)
	for _, e := range entries[max(len(entries)-contexts, 0):] {
		latest = max(latest, e.time)
	}
	return latest
}

// Reach says how far back recent samples go.
type Reach struct {
	// Complete is the time from which on every CPU has all its samples: when they
	// began to be kept, or that of the oldest sample on the CPU whose ring reaches
	// least far. CLOCK_MONOTONIC, nanoseconds.
	Complete uint64
	// Full is the CPU whose ring it is that Complete is later for; -1 if all rings
	// have all since Start.
	Full int
}

// place is a record in one of the rings.
type place struct {
	entry
	ring *backward
}

// Kept is what Read found in the rings.
type Kept struct {
	Reach
	r      *Recent
	places []place // in time order
}

// Read looks through the rings after Stop. The records can be handed on until the
// next Start.
func (r *Recent) Read() *Kept {
	k := &Kept{r: r, Reach: Reach{Complete: r.started, Full: -1}}
	for i := range r.rings {
		b := &r.rings[i]
		entries, overwritten := b.kept()
		for _, e := range entries {
			k.places = append(k.places, place{e, b})
		}
		if !overwritten {
			continue
		}
		complete := since(entries)
		if len(entries) == 0 {
			complete = Now()
		}
		if k.Full < 0 || complete > k.Complete {
			k.Complete, k.Full = complete, b.cpu
		}
	}
	// Of equal times, which coarse clocks give, the older record has the higher place.
	slices.SortFunc(k.places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(b.pos, a.pos))
	})
	return k
}

// Span is the stretch of time that the records are complete in, at most so long,
// up to a time.
func (k *Kept) Span(end uint64, most time.Duration) (start uint64) {
	return min(max(k.Complete, end-min(end, uint64(most))), end)
}

// Each hands on the records, in time order. They are valid until handle returns. The
// error is handle's.
func (k *Kept) Each(handle func(Record) error) error {
	for i := range k.places {
		p := &k.places[i]
		if err := k.r.s.receive(p.ring.bytes(&p.entry), handle); err != nil {
			return err
		}
	}
	return nil
}
