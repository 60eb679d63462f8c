package perfevent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sys/unix"
)

// Decoder turns the bytes of records into Records, wherever the bytes come from: a
// ring, a capture of one (Reader.Raw), a file. It holds no descriptors and opens
// nothing. A Decoder is for one goroutine at a time.
type Decoder struct {
	layouts []layout // by sampling
	events  eventTable
	// shared is the sampling that a sample with another event's id belongs to, or -1:
	// see Sampling.isShared.
	shared int32

	mmap       Mmap
	comm       Comm
	fork       Fork
	exit       Exit
	lost       Lost
	lostSample LostSamples
	throttle   Throttle
	switched   Switch
	namespaces Namespaces
	cgroup     Cgroup
	ksymbol    Ksymbol
	textPoke   TextPoke
}

// EventAttr is what a Decoder must know of an event: what it was opened with, and by
// which numbers its records name it. A perf.data file says the same of its events.
type EventAttr struct {
	// Attr is the argument of perf_event_open(2). What it points to (the file of a
	// Uprobe) is not known.
	Attr unix.PerfEventAttr
	// IDs are the kernel's ids of the event on each CPU and thread (PERF_EVENT_IOC_ID).
	IDs []uint64
}

// Errors of Decoder. All other errors of Decode mean a malformed record.
var (
	// ErrUnknownRecord: the record is of a type that this package does not know. It is
	// no defect, since later kernels have more types.
	ErrUnknownRecord = errors.New("record of an unknown type")
	// ErrUnknownLayout: an event's samples carry what this package does not know, or
	// lack what it needs.
	ErrUnknownLayout = errors.New("unknown layout of samples")
)

var (
	errShort = errors.New("record too short for its fields")
	errID    = errors.New("record of an event that is not known")
)

// traceFunction is the id of the tracepoint ftrace:function (TRACE_FN in
// kernel/trace/trace.h).
const traceFunction = 1

// NewDecoder returns a decoder of the records of events. Sample.Sampling is an index
// into events, whose order is kept. Each event must have the sample type of those that
// Open opens: PERF_SAMPLE_IDENTIFIER, IP, TID, TIME and CPU with sample_id_all, and no
// more than Sampling can ask for. For others the error is ErrUnknownLayout.
func NewDecoder(events []EventAttr) (*Decoder, error) {
	var ids []uint64
	var infos []eventInfo
	attrs := make([]unix.PerfEventAttr, len(events))
	for i, e := range events {
		attrs[i] = e.Attr
		if err := checkLayout(&e.Attr); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		info := eventInfo{sampling: int32(i)}
		if isSideBand(&e.Attr) {
			info.sampling = sideBand
		}
		for _, id := range e.IDs {
			ids, infos = append(ids, id), append(infos, info)
		}
	}
	d := newDecoder(attrs)
	d.events = newEventTable(ids, infos)
	return &d, nil
}

// newDecoder returns a decoder that knows no ids yet.
func newDecoder(attrs []unix.PerfEventAttr) Decoder {
	d := Decoder{layouts: make([]layout, len(attrs)), shared: -1}
	shared := 0
	for i := range attrs {
		attr := &attrs[i]
		period := attr.Sample
		if attr.Bits&unix.PerfBitFreq != 0 {
			period = 0
		}
		d.layouts[i] = newLayout(i, period, attr.Sample_type, attr.Sample_regs_user, attr.Sample_regs_intr)
		d.layouts[i].isFunction = attr.Type == unix.PERF_TYPE_TRACEPOINT && attr.Config == traceFunction
		if isShared(attr.Type, attr.Config) && !isSideBand(attr) {
			d.shared = int32(i)
			shared++
		}
	}
	if shared > 1 {
		d.shared = -1 // it could be either
	}
	return d
}

// isSideBand reports whether an event counts nothing and makes no samples.
func isSideBand(attr *unix.PerfEventAttr) bool {
	return attr.Type == unix.PERF_TYPE_SOFTWARE && attr.Config == unix.PERF_COUNT_SW_DUMMY
}

// knownSample is all that a sample may carry.
const knownSample = fixedSample | unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_CALLCHAIN |
	unix.PERF_SAMPLE_RAW | unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER | unix.PERF_SAMPLE_REGS_INTR |
	unix.PERF_SAMPLE_CGROUP

// otherTrailer is what would make the trailer of records another than fixedSample's.
const otherTrailer = unix.PERF_SAMPLE_ID | unix.PERF_SAMPLE_STREAM_ID

func checkLayout(attr *unix.PerfEventAttr) error {
	unknown := attr.Sample_type &^ knownSample
	if isSideBand(attr) {
		unknown &= otherTrailer // it makes no samples
	}
	switch {
	case attr.Sample_type&fixedSample != fixedSample:
		return fmt.Errorf("%w: sample_type %#x lacks %#x", ErrUnknownLayout, attr.Sample_type, fixedSample&^attr.Sample_type)
	case unknown != 0:
		return fmt.Errorf("%w: sample_type %#x has %#x", ErrUnknownLayout, attr.Sample_type, unknown)
	case attr.Bits&unix.PerfBitSampleIDAll == 0:
		return fmt.Errorf("%w: sample_id_all is not set", ErrUnknownLayout)
	}
	return nil
}

// Records decodes one record after another that b holds, as the kernel or Reader.Raw
// wrote them. Each is valid until the next. What can't be decoded gives an error and
// is skipped; a record that says it is longer than b ends the sequence.
func (d *Decoder) Records(b []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for len(b) > 0 {
			size := 0
			if len(b) >= headerSize {
				size = int(binary.LittleEndian.Uint16(b[6:]))
			}
			if size < headerSize || size > len(b) {
				yield(nil, fmt.Errorf("record of %d bytes where %d are left: %w", size, len(b), errShort))
				return
			}
			if !yield(d.Decode(b[:size])) {
				return
			}
			b = b[size:]
		}
	}
}

// Events returns what a Decoder must know to decode what the session records: its
// samplings in their order, and behind them the side-band. GrowStack opens events with
// ids of their own, so that a capture asks when Read has returned. It may be called while Read
// runs.
func (s *Session) Events() []EventAttr {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	events := make([]EventAttr, len(s.samplings)+1)
	for i := range s.samplings {
		events[i].Attr = sampleAttr(&s.samplings[i], false, 0, s.format)
	}
	last := len(s.samplings)
	events[last].Attr = sideBandAttr(&s.opts, false, 0, s.format)
	s.dec.events.each(func(id uint64, info *eventInfo) {
		i := int(info.sampling)
		if i == sideBand {
			i = last
		}
		events[i].IDs = append(events[i].IDs, id)
	})
	return events
}
