package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/perfevent"
)

// Stats says what a recording holds.
type Stats struct {
	Samples []uint64                        // of each event
	Records map[perfevent.RecordType]uint64 // all others, by type
	// Lost counts the records that did not fit into the kernel's rings. LostSamples counts the
	// samples that the hardware dropped.
	Lost, LostSamples uint64
	// Malformed counts the records that could not be decoded. MalformedError is about the first.
	Malformed      uint64
	MalformedError error
	Late           uint64 // records handed on after one with a later time
	First, Last    uint64 // times of the first and the last sample
	Cut            bool   // the recorder was killed, or the file was cut off
}

// Read calls handle for each record in the order of time. A record is valid until handle returns.
// If handle returns an error, Read stops and returns it. Read counts and skips records that
// perfevent has no type for.
//
// If the recording stops making sense, Read hands on the records before that point and returns
// a *FormatError.
func (f *File) Read(handle func(perfevent.Record) error) (Stats, error) {
	decoder, err := perfevent.NewDecoder(attrsOf(f.Events))
	if err != nil {
		return Stats{}, err
	}
	r := &reading{decoder: decoder, handle: handle,
		stats: Stats{Samples: make([]uint64, len(f.Events)), Records: make(map[perfevent.RecordType]uint64)}}
	r.order = orderer{handOn: r.handOn, limit: int(max(leastWaiting, 3*f.size))}
	for i := range f.streams {
		s := &f.streams[i]
		// The files of a directory have separate rounds, so all records wait until the end.
		r.rounds = len(f.streams) == 1
		r.stats.Cut = r.stats.Cut || s.cut
		if err := r.stream(s); r.failed != nil {
			return r.stats, r.failed
		} else if err != nil {
			r.errs = append(r.errs, err)
		}
	}
	if err := r.order.flush(^uint64(0)); err != nil {
		return r.stats, err
	}
	r.stats.Late = r.order.late
	return r.stats, errors.Join(r.errs...)
}

// leastWaiting is how many bytes of a small recording's records may wait. Unpacked, they may take
// much more than the file.
const leastWaiting = 64 << 20

// reading is one Read.
type reading struct {
	decoder *perfevent.Decoder
	handle  func(perfevent.Record) error
	order   orderer
	rounds  bool // obey FINISHED_ROUND
	stats   Stats
	failed  error // of handle
	errs    []error
}

// stream reads the records of a stream.
func (r *reading) stream(s *stream) error {
	w := newWalker(s)
	payload, err := r.plain(w)
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	// From the first COMPRESSED record on, the decoder asks for the following ones.
	i := &inflater{payload: payload, more: func() ([]byte, error) { return r.plain(w) }}
	err = i.records(r.take)
	var malformed *FormatError
	if err == nil || r.failed != nil || errors.As(err, &malformed) {
		return err
	}
	return w.fail(err)
}

// plain takes the records up to the next COMPRESSED one and returns its payload, or io.EOF at the end
// of the stream.
func (r *reading) plain(w *walker) ([]byte, error) {
	for {
		record, err := w.next()
		if err != nil {
			return nil, err
		}
		switch kind := binary.LittleEndian.Uint32(record); kind {
		case recordCompressed, recordCompressed2:
			r.stats.Records[perfevent.RecordType(kind)]++
			payload, err := payloadOf(record)
			if err != nil {
				return nil, w.fail(err)
			}
			if len(payload) > 0 {
				return bytes.Clone(payload), nil
			}
		default:
			n := attached(record)
			if err := r.take(record); err != nil {
				return nil, err
			}
			if err := w.skip(n); err != nil {
				return nil, err
			}
		}
	}
}

// take processes one record, in the stream's order.
func (r *reading) take(record []byte) error {
	kind := binary.LittleEndian.Uint32(record)
	if kind >= firstUserRecord {
		r.stats.Records[perfevent.RecordType(kind)]++
		if kind == recordFinishedRound && r.rounds {
			return r.order.round()
		}
		return nil
	}
	return r.order.add(record, r.decoder.Time(record))
}

// handOn decodes a record and passes it to the caller.
func (r *reading) handOn(b []byte) error {
	record, err := r.decoder.Decode(b)
	kind := perfevent.RecordType(binary.LittleEndian.Uint32(b))
	switch {
	case errors.Is(err, perfevent.ErrUnknownRecord):
		r.stats.Records[kind]++
		return nil
	case err != nil:
		if r.stats.Malformed++; r.stats.MalformedError == nil {
			r.stats.MalformedError = fmt.Errorf("a record of type %d: %w", kind, err)
		}
		return nil
	}
	r.count(record)
	r.failed = r.handle(record)
	return r.failed
}

// count adds a record to the statistics.
func (r *reading) count(record perfevent.Record) {
	h := record.Common()
	switch record := record.(type) {
	case *perfevent.Sample:
		r.stats.Samples[record.Sampling]++
		if r.stats.First == 0 {
			r.stats.First = h.Time
		}
		r.stats.Last = max(r.stats.Last, h.Time)
		return
	case *perfevent.Lost:
		r.stats.Lost += record.Lost
	case *perfevent.LostSamples:
		r.stats.LostSamples += record.Lost
	}
	r.stats.Records[h.Type]++
}
