package perfevent

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

// layout says where a sample of one event has its fields. It also holds the Sample that
// samples are decoded to: fields that the event does not record stay zero.
type layout struct {
	sampleType uint64
	readFormat uint64
	branches   uint64 // branch_sample_type
	userRegs   uint64
	intrRegs   uint64
	isFunction bool // of FunctionEntry
	head       samplePlaces
	afterStack int // words from the end of the stack copy to the interrupt registers
	sample     Sample
	chain      []uint64 // memory of atFunction
}

// samplePlaces holds the index, in 64 bit words of the record, of each field that comes before
// the first one of variable length. 0, the header's index, means that samples lack the field.
type samplePlaces struct {
	id, ip, tid, time, addr, cpu, period int
	end                                  int // the first word after these fields
}

// trailerPlaces holds the places of the fields that sample_id_all appends to every other
// record, in words from the end: 1 is the last word, 0 means that the field is missing.
type trailerPlaces struct {
	tid, time, id, cpu int
	words              int
}

// newLayout returns the layout of the samples of the index-th event.
func newLayout(index int, attr *unix.PerfEventAttr) layout {
	t := attr.Sample_type
	l := layout{
		sampleType: t,
		readFormat: attr.Read_format,
		branches:   attr.Branch_sample_type,
		userRegs:   attr.Sample_regs_user,
		intrRegs:   attr.Sample_regs_intr,
		isFunction: attr.Type == unix.PERF_TYPE_TRACEPOINT && attr.Config == traceFunction,
		head:       placesOf(t),
		afterStack: bits.OnesCount64(t & (unix.PERF_SAMPLE_DATA_SRC | unix.PERF_SAMPLE_TRANSACTION)),
		sample:     Sample{Header: Header{Type: unix.PERF_RECORD_SAMPLE}, Sampling: index, Period: 1},
	}
	if t&(unix.PERF_SAMPLE_WEIGHT|unix.PERF_SAMPLE_WEIGHT_STRUCT) != 0 {
		l.afterStack++
	}
	if attr.Bits&unix.PerfBitFreq == 0 && attr.Sample > 0 {
		l.sample.Period = attr.Sample
	}
	return l
}

// placesOf returns where samples have their first fields. perf_output_sample in
// kernel/events/core.c defines the order.
func placesOf(sampleType uint64) samplePlaces {
	next := 1
	place := func(bit uint64) int {
		if sampleType&bit == 0 {
			return 0
		}
		next++
		return next - 1
	}
	var h samplePlaces
	h.id = place(unix.PERF_SAMPLE_IDENTIFIER)
	h.ip = place(unix.PERF_SAMPLE_IP)
	h.tid = place(unix.PERF_SAMPLE_TID)
	h.time = place(unix.PERF_SAMPLE_TIME)
	h.addr = place(unix.PERF_SAMPLE_ADDR)
	if id := place(unix.PERF_SAMPLE_ID); h.id == 0 {
		h.id = id
	}
	place(unix.PERF_SAMPLE_STREAM_ID)
	h.cpu = place(unix.PERF_SAMPLE_CPU)
	h.period = place(unix.PERF_SAMPLE_PERIOD)
	h.end = next
	return h
}

// trailerOf returns where an event's trailers have their fields. __perf_event__output_id_sample
// in kernel/events/core.c defines the order.
func trailerOf(attr *unix.PerfEventAttr) trailerPlaces {
	var t trailerPlaces
	if attr.Bits&unix.PerfBitSampleIDAll == 0 {
		return t
	}
	place := func(bit uint64) int {
		if attr.Sample_type&bit == 0 {
			return 0
		}
		t.words++
		return t.words
	}
	t.id = place(unix.PERF_SAMPLE_IDENTIFIER)
	t.cpu = place(unix.PERF_SAMPLE_CPU)
	place(unix.PERF_SAMPLE_STREAM_ID)
	if id := place(unix.PERF_SAMPLE_ID); t.id == 0 {
		t.id = id
	}
	t.time = place(unix.PERF_SAMPLE_TIME)
	t.tid = place(unix.PERF_SAMPLE_TID)
	return t
}

// The bits that determine the length of a field. A bit that a later kernel adds may add words.
const (
	knownReadFormat = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING |
		unix.PERF_FORMAT_ID | unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_LOST
	knownBranches = unix.PERF_SAMPLE_BRANCH_MAX - 1
)

// checkLayout returns an error if the event's samples may have fields of unknown length.
func checkLayout(attr *unix.PerfEventAttr) error {
	t := attr.Sample_type
	switch {
	case isSideBand(attr):
		return nil // it makes no samples
	case t >= unix.PERF_SAMPLE_MAX:
		return fmt.Errorf("%w: sample_type %#x", ErrUnknownLayout, t)
	case t&unix.PERF_SAMPLE_READ != 0 && attr.Read_format&^knownReadFormat != 0:
		return fmt.Errorf("%w: read_format %#x", ErrUnknownLayout, attr.Read_format)
	case t&unix.PERF_SAMPLE_BRANCH_STACK != 0 && attr.Branch_sample_type&^knownBranches != 0:
		return fmt.Errorf("%w: branch_sample_type %#x", ErrUnknownLayout, attr.Branch_sample_type)
	}
	return nil
}

// skipRead returns the index of the word after the counts (PERF_SAMPLE_READ) that start at
// word i.
func skipRead(w []uint64, i int, format uint64) (end int, ok bool) {
	counts := 1
	if format&unix.PERF_FORMAT_GROUP != 0 {
		if i >= len(w) || w[i] > uint64(len(w)) {
			return 0, false
		}
		counts = int(w[i])
		i++
	}
	each := 1 + bits.OnesCount64(format&(unix.PERF_FORMAT_ID|unix.PERF_FORMAT_LOST))
	times := bits.OnesCount64(format & (unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING))
	end = i + times + counts*each
	return end, end <= len(w)
}

// skipBranches returns the index of the word after the branch stack
// (PERF_SAMPLE_BRANCH_STACK) that starts at word i.
func skipBranches(w []uint64, i int, branches uint64) (end int, ok bool) {
	const entryWords = 3 // struct perf_branch_entry
	if i >= len(w) || w[i] > uint64(len(w)) {
		return 0, false
	}
	n := int(w[i])
	end = i + 1 + n*entryWords
	if branches&unix.PERF_SAMPLE_BRANCH_HW_INDEX != 0 {
		end++
	}
	if branches&unix.PERF_SAMPLE_BRANCH_COUNTERS != 0 {
		end += n
	}
	return end, end <= len(w)
}
