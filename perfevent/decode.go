package perfevent

import (
	"bytes"
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
	// fallback is the sampling that a sample with an unknown id belongs to, or -1 for none. In
	// a session, it is the only sampling for which isShared is true.
	fallback int32
	// unnamed is the sampling of samples without an id or with the id 0, which perf writes into
	// synthesized records. It is -1 in a session.
	unnamed  int32
	sampleID int                      // where samples have their id: samplePlaces.id
	trailer  trailerPlaces            // of the records of events that are not in trailers
	trailers map[uint64]trailerPlaces // by event id; nil if all events have the same

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
}

// EventAttr is what a Decoder needs to know about an event: its attribute and its ids. A
// perf.data file has both.
type EventAttr struct {
	// Attr is the argument of perf_event_open(2). Its pointers, such as to the file name
	// of a Uprobe, lead nowhere.
	Attr unix.PerfEventAttr
	// IDs are the kernel's ids of the event on each CPU and thread (PERF_EVENT_IOC_ID).
	IDs []uint64
	// UserProbe is Sampling.UserProbe.
	UserProbe bool
}

// Errors of Decoder. All other errors of Decode mean a malformed record.
var (
	// ErrUnknownRecord is returned for a record of a type that this package does not know.
	// The record may be fine: later kernels have more types.
	ErrUnknownRecord = errors.New("record of an unknown type")
	// ErrUnknownLayout is returned when an event's samples may have fields of unknown length.
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
// into events. Events may have any sample type; the decoder skips what Sample has no field
// for. A sample whose id is 0 belongs to the first event. If there is only one event, all
// samples belong to it.
//
// NewDecoder returns ErrUnknownLayout if a sample_type, read_format or branch_sample_type has
// bits that this package does not know, or if the events have their ids at different places,
// which never happens in one perf.data file.
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
	if len(events) > 0 {
		d.unnamed = 0
	}
	if len(events) == 1 {
		d.fallback = 0
	}
	if err := d.place(events); err != nil {
		return nil, err
	}
	return &d, nil
}

// newDecoder returns a decoder for the events of a session, which have fixedSample and
// sample_id_all. It knows no ids yet.
func newDecoder(attrs []unix.PerfEventAttr) Decoder {
	fixed := unix.PerfEventAttr{Sample_type: fixedSample, Bits: unix.PerfBitSampleIDAll}
	d := Decoder{layouts: make([]layout, len(attrs)), fallback: -1, unnamed: -1,
		sampleID: placesOf(fixedSample).id, trailer: trailerOf(&fixed)}
	shared := 0
	for i := range attrs {
		attr := &attrs[i]
		d.layouts[i] = newLayout(i, attr)
		if isShared(attr.Type, attr.Config) && !isSideBand(attr) {
			d.fallback = int32(i)
			shared++
		}
	}
	if shared > 1 {
		d.fallback = -1 // it could be either
	}
	return d
}

// place sets where the events' records have their ids and trailers.
func (d *Decoder) place(events []EventAttr) error {
	d.sampleID = -1
	for i := range events {
		attr := &events[i].Attr
		end := trailerOf(attr)
		if i == 0 {
			d.trailer = end
		}
		id := placesOf(attr.Sample_type).id
		if d.sampleID < 0 && !isSideBand(attr) {
			d.sampleID = id
		}
		if id != d.sampleID && !isSideBand(attr) || end.id != d.trailer.id {
			return fmt.Errorf("%w: events have their ids at different places", ErrUnknownLayout)
		}
		if end != d.trailer && d.trailers == nil {
			d.trailers = make(map[uint64]trailerPlaces)
		}
	}
	d.sampleID = max(d.sampleID, 0)
	if d.trailers == nil {
		return nil
	}
	for i := range events {
		for _, id := range events[i].IDs {
			d.trailers[id] = trailerOf(&events[i].Attr)
		}
	}
	return nil
}

// isSideBand reports whether an event counts nothing and makes no samples.
func isSideBand(attr *unix.PerfEventAttr) bool {
	return attr.Type == unix.PERF_TYPE_SOFTWARE && attr.Config == unix.PERF_COUNT_SW_DUMMY
}

// Records decodes the records in b, which are as the kernel or Reader.Raw wrote them. Each is
// valid until the next one. A record that can't be decoded yields an error, and the sequence
// goes on. A record with an impossible size, such as one beyond b, ends the sequence.
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

// Sizes and places in a session's records, in bytes. Every record starts with a header of
// type (32 bit), misc and size (16 bit each). With fixedSample a sample goes on
// with id, ip, pid and tid, time; every other record ends with pid and tid,
// time, cpu, id.
const (
	headerSize     = 8
	trailerSize    = 32
	sampleTimeAt   = 32
	trailerTimeAt  = 24 // from the end
	minSampleSize  = 48
	minOtherSize   = headerSize + trailerSize
	maxRecordSize  = 1<<16 - 8 // size is a multiple of 8 in 16 bits
	buildIDMaxSize = 20
)

// Decode decodes the record that fills b. It never reads outside b, whatever b holds, and
// does not allocate unless it fails. The record belongs to the decoder, and the next call
// overwrites it. Its slices lie in b.
func (d *Decoder) Decode(b []byte) (Record, error) {
	if len(b) < headerSize {
		return nil, errShort
	}
	le := binary.LittleEndian
	kind := RecordType(le.Uint32(b))
	if kind == unix.PERF_RECORD_SAMPLE {
		return d.decodeSample(b)
	}
	h := Header{Type: kind, Misc: le.Uint16(b[4:])}
	body, ok := d.decodeTrailer(&h, b)
	if !ok {
		return nil, errShort
	}
	r, need := d.decodeOther(h, body)
	if need > len(body) {
		return nil, fmt.Errorf("record type %d of %d bytes: %w", h.Type, len(b), errShort)
	}
	if r == nil {
		return nil, ErrUnknownRecord
	}
	return r, nil
}

// decodeTrailer decodes the trailer of a record that is not a sample. It returns the bytes
// between the header and the trailer, and false if the record is too short.
func (d *Decoder) decodeTrailer(h *Header, b []byte) (body []byte, ok bool) {
	le := binary.LittleEndian
	t := d.trailer
	if d.trailers != nil && t.id != 0 && len(b) >= headerSize+8*t.id {
		if own, ok := d.trailers[le.Uint64(b[len(b)-8*t.id:])]; ok {
			t = own
		}
	}
	end := len(b) - 8*t.words
	if end < headerSize {
		return nil, false
	}
	if t.tid != 0 {
		at := b[len(b)-8*t.tid:]
		h.PID, h.TID = le.Uint32(at), le.Uint32(at[4:])
	}
	if t.time != 0 {
		h.Time = le.Uint64(b[len(b)-8*t.time:])
	}
	if t.cpu != 0 {
		h.CPU = le.Uint32(b[len(b)-8*t.cpu:])
	}
	if t.id != 0 {
		h.ID = le.Uint64(b[len(b)-8*t.id:])
	}
	return b[headerSize:end], true
}

// decodeOther decodes every record but samples. It also returns the least size of the body; a
// shorter body is not decoded. The record is nil if its type is unknown.
func (d *Decoder) decodeOther(h Header, body []byte) (Record, int) {
	le := binary.LittleEndian
	switch h.Type {
	case unix.PERF_RECORD_MMAP, unix.PERF_RECORD_MMAP2:
		return d.decodeMmap(h, body)
	case unix.PERF_RECORD_COMM:
		if len(body) < 8 {
			return nil, 8
		}
		d.comm = Comm{Header: h, PID: le.Uint32(body), TID: le.Uint32(body[4:]),
			Exec: h.Misc&unix.PERF_RECORD_MISC_COMM_EXEC != 0, Name: cString(body[8:])}
		return &d.comm, 8
	case unix.PERF_RECORD_FORK, unix.PERF_RECORD_EXIT:
		if len(body) < 24 {
			return nil, 24
		}
		f := Fork{Header: h, PID: le.Uint32(body), PPID: le.Uint32(body[4:]),
			TID: le.Uint32(body[8:]), PTID: le.Uint32(body[12:])}
		if h.Type == unix.PERF_RECORD_EXIT {
			d.exit = Exit(f)
			return &d.exit, 24
		}
		d.fork = f
		return &d.fork, 24
	case unix.PERF_RECORD_LOST:
		if len(body) < 16 {
			return nil, 16
		}
		d.lost = Lost{Header: h, EventID: le.Uint64(body), Lost: le.Uint64(body[8:])}
		return &d.lost, 16
	case unix.PERF_RECORD_LOST_SAMPLES:
		if len(body) < 8 {
			return nil, 8
		}
		d.lostSample = LostSamples{Header: h, Lost: le.Uint64(body)}
		return &d.lostSample, 8
	case unix.PERF_RECORD_THROTTLE, unix.PERF_RECORD_UNTHROTTLE:
		if len(body) < 24 {
			return nil, 24
		}
		d.throttle = Throttle{Header: h, Unthrottle: h.Type == unix.PERF_RECORD_UNTHROTTLE, EventID: le.Uint64(body[8:])}
		return &d.throttle, 24
	case unix.PERF_RECORD_SWITCH, unix.PERF_RECORD_SWITCH_CPU_WIDE:
		return d.decodeSwitch(h, body)
	case unix.PERF_RECORD_NAMESPACES:
		if len(body) < 16 {
			return nil, 16
		}
		n := le.Uint64(body[8:])
		if n > uint64(len(body)-16)/16 {
			return nil, len(body) + 1
		}
		d.namespaces = Namespaces{Header: h, PID: le.Uint32(body), TID: le.Uint32(body[4:]),
			Links: namespacesOf(words(body[16 : 16+n*16]))}
		return &d.namespaces, 16
	case unix.PERF_RECORD_CGROUP:
		if len(body) < 8 {
			return nil, 8
		}
		d.cgroup = Cgroup{Header: h, CgroupID: le.Uint64(body), Path: cString(body[8:])}
		return &d.cgroup, 8
	case unix.PERF_RECORD_KSYMBOL:
		if len(body) < 16 {
			return nil, 16
		}
		const unregister = 1 // PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
		d.ksymbol = Ksymbol{Header: h, Addr: le.Uint64(body), Len: le.Uint32(body[8:]), Kind: le.Uint16(body[12:]),
			Unregister: le.Uint16(body[14:])&unregister != 0, Name: cString(body[16:])}
		return &d.ksymbol, 16
	}
	return nil, 0
}

func (d *Decoder) decodeMmap(h Header, body []byte) (Record, int) {
	le := binary.LittleEndian
	const short, long = 32, 64 // MMAP, MMAP2
	need := short
	if h.Type == unix.PERF_RECORD_MMAP2 {
		need = long
	}
	if len(body) < need {
		return nil, need
	}
	d.mmap = Mmap{Header: h, PID: le.Uint32(body), TID: le.Uint32(body[4:]),
		Addr: le.Uint64(body[8:]), Len: le.Uint64(body[16:]), Pgoff: le.Uint64(body[24:]),
		Filename: cString(body[need:])}
	if need == short {
		return &d.mmap, need
	}
	d.mmap.Prot, d.mmap.Flags = le.Uint32(body[56:]), le.Uint32(body[60:])
	if h.Misc&unix.PERF_RECORD_MISC_MMAP_BUILD_ID != 0 {
		size := min(int(body[32]), buildIDMaxSize)
		d.mmap.BuildID = body[36 : 36+size]
		return &d.mmap, need
	}
	d.mmap.Major, d.mmap.Minor = le.Uint32(body[32:]), le.Uint32(body[36:])
	d.mmap.Inode, d.mmap.InodeGeneration = le.Uint64(body[40:]), le.Uint64(body[48:])
	return &d.mmap, need
}

func (d *Decoder) decodeSwitch(h Header, body []byte) (Record, int) {
	d.switched = Switch{Header: h,
		Out:     h.Misc&unix.PERF_RECORD_MISC_SWITCH_OUT != 0,
		Preempt: h.Misc&unix.PERF_RECORD_MISC_SWITCH_OUT_PREEMPT != 0}
	if h.Type == unix.PERF_RECORD_SWITCH {
		return &d.switched, 0
	}
	if len(body) < 8 {
		return nil, 8
	}
	d.switched.CPUWide = true
	d.switched.OtherPID = binary.LittleEndian.Uint32(body)
	d.switched.OtherTID = binary.LittleEndian.Uint32(body[4:])
	return &d.switched, 8
}

// cString cuts b before its first NUL: the kernel pads strings with NULs to a multiple of 8.
func cString(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
