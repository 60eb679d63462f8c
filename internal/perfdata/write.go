package perfdata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// WriteOptions is what a Writer needs to know before the first record.
type WriteOptions struct {
	// Info describes this machine and run. Pipe, Directory and Compressed are ignored.
	Info Info
	// TracingData holds the formats of the recorded tracepoints, or is nil. perf's
	// util/trace-event-info.c defines its contents.
	TracingData []byte
	// Level is the level of zstd compression from 1 to 22, as perf record -z has it, or 0 to leave
	// records as they are. Each Flush costs a few bytes of compression.
	Level int
}

// Sections are the parts of a recording that are known only when it ends.
type Sections struct {
	BuildIDs []BuildID
	Symbols  []SymbolTable
	// Other are features by number, up to 255, that WriteOptions and BuildIDs do not describe.
	// perf skips numbers that it does not know.
	Other map[int][]byte
}

// Writer writes a recording. If the program is killed, the recording is intact up to the last
// Flush, with everything that WriteOptions holds. A Writer is for one goroutine at a time.
//
// If a method returns an error about the output, such as a full disk, all later calls return it
// as well, and the recording is intact up to the last successful Flush.
//
// The attributes have the 112 bytes of PERF_ATTR_SIZE_VER5, since perf refuses attributes larger
// than its own.
type Writer struct {
	out         output
	decoder     *perfevent.Decoder // for times
	deflater    *deflater          // nil without compression
	pending     []byte             // records that are not in the output yet
	written     int64              // bytes of records in the output
	first, last uint64             // times of samples
	err         error              // of the output
}

// output is what a Writer writes to.
type output interface {
	// start writes what precedes the records.
	start(events []Event, features map[int][]byte) error
	// add adds records to the recording.
	add(records []byte) error
	// end adds features and closes the output.
	end(features map[int][]byte) error
	// discard closes the output after an error.
	discard() error
}

// bufferBytes is how many bytes of records a Writer keeps before it flushes them.
const bufferBytes = 256 << 10

// Create creates or truncates a file and starts a recording of events in it. Only the owner may
// read a new file, as with perf record. If there is more than one event, each needs ids.
func Create(path string, events []Event, opts WriteOptions) (*Writer, error) {
	w, err := newWriter(events, opts)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := w.start(&fileOutput{file: f}, events, opts); err != nil {
		return nil, err
	}
	return w, nil
}

// decoderOf returns a decoder of the events' records, or an error if readers could not tell the
// records apart.
func decoderOf(events []Event) (*perfevent.Decoder, error) {
	if len(events) == 0 {
		return nil, errors.New("a recording needs an event")
	}
	for i := range events {
		if len(events) > 1 && len(events[i].IDs) == 0 {
			return nil, fmt.Errorf("event %d of %d has no id", i, len(events))
		}
	}
	return perfevent.NewDecoder(attrsOf(events))
}

// newWriter returns a writer without an output.
func newWriter(events []Event, opts WriteOptions) (*Writer, error) {
	w := &Writer{}
	var err error
	if w.decoder, err = decoderOf(events); err != nil {
		return nil, err
	}
	if opts.Level != 0 {
		w.deflater, err = newDeflater(opts.Level)
	}
	return w, err
}

// start writes what precedes the records.
func (w *Writer) start(out output, events []Event, opts WriteOptions) error {
	w.out = out
	features := infoFeatures(&opts.Info, events)
	if len(opts.TracingData) > 0 {
		features[featureTracingData] = opts.TracingData
	}
	if w.deflater != nil {
		features[featureCompressed] = w.deflater.feature()
	}
	if err := out.start(events, features); err != nil {
		return w.fail(err)
	}
	return nil
}

// fail closes the output after an error, and makes all later calls return the error.
func (w *Writer) fail(err error) error {
	if w.err == nil {
		w.err = fmt.Errorf("write a recording: %w", err)
		_ = w.out.discard() // err is the cause
	}
	return w.err
}

// Record adds a record as the kernel wrote it, such as Reader.Raw's and an Encoder's. It copies
// raw. It returns an error and adds nothing if raw is not exactly one record of the kernel's.
func (w *Writer) Record(raw []byte) error {
	if w.err != nil {
		return w.err
	}
	if len(raw) < headerSize {
		return fmt.Errorf("a record of %d bytes has no header", len(raw))
	}
	kind, size := binary.LittleEndian.Uint32(raw), int(binary.LittleEndian.Uint16(raw[6:]))
	switch {
	case size != len(raw):
		return fmt.Errorf("a record of %d bytes says that it has %d", len(raw), size)
	case size%8 != 0:
		return fmt.Errorf("a record has %d bytes, which is not a multiple of 8", size)
	case kind == 0 || kind >= firstUserRecord:
		return fmt.Errorf("the kernel has no record of type %d", kind)
	case kind == unix.PERF_RECORD_SAMPLE:
		if time := w.decoder.Time(raw); time != 0 {
			if w.first == 0 || time < w.first {
				w.first = time
			}
			w.last = max(w.last, time)
		}
	}
	return w.add(raw)
}

// Round ends a round (FINISHED_ROUND): no later record is older than the newest record of the
// round before this one. Readers then need not keep all records to sort them. Reader.Round is a
// good time to call it.
func (w *Writer) Round() error {
	if w.err != nil {
		return w.err
	}
	return w.add(appendRecord(nil, recordFinishedRound))
}

// Fits reports whether records of so many bytes can be added without writing to the output.
func (w *Writer) Fits(bytes int) bool { return len(w.pending)+bytes <= bufferBytes }

func (w *Writer) add(record []byte) error {
	if !w.Fits(len(record)) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	w.pending = append(w.pending, record...)
	return nil
}

// Flush writes all records so far to the recording. A recorder calls it at least every second, so
// that little is missing if it is killed. It does not wait for the disk.
func (w *Writer) Flush() error {
	if w.err != nil {
		return w.err
	}
	if len(w.pending) == 0 {
		return nil
	}
	records := w.pending
	if w.deflater != nil {
		var err error
		if records, err = w.deflater.pack(records); err != nil {
			return w.fail(err)
		}
	}
	if err := w.out.add(records); err != nil {
		return w.fail(err)
	}
	w.written += int64(len(records))
	w.pending = w.pending[:0]
	return nil
}

// Written returns how many bytes of records are in the output, packed if they are packed. Those since
// the last Flush may be missing.
func (w *Writer) Written() int64 { return w.written }

// Close writes the remaining records and the last sections, and closes the output.
func (w *Writer) Close(last Sections) error {
	if err := w.Flush(); err != nil {
		return err
	}
	features, err := last.features()
	if err != nil {
		return w.fail(err)
	}
	features[featureSampleTime] = appendWords(nil, w.first, w.last) // even 0: readers see that the recording has ended
	if w.deflater != nil {
		features[featureCompressed] = w.deflater.feature() // with the ratio
	}
	if err := w.out.end(features); err != nil {
		return w.fail(err)
	}
	w.err = fmt.Errorf("write a recording: %w", os.ErrClosed)
	return nil
}

// fileOutput is a regular file:
//
//	header, ids, attributes, bodies of early features, records, list of features, bodies of late ones
//
// The format requires the list of features right after the records, so it moves whenever records
// are added. The header changes in one write, so each step of add leaves a file that can be read.
type fileOutput struct {
	file interface {
		io.WriterAt
		io.Closer
	}
	from, to int64 // of the records
	features map[int]section
}

func (o *fileOutput) start(events []Event, features map[int][]byte) error {
	head := append([]byte(Magic), make([]byte, fileHeader-len(Magic))...)
	var ids, attrs []byte
	for i := range events {
		at := uint64(fileHeader + len(ids))
		ids = appendWords(ids, events[i].IDs...)
		attrs = appendWords(append(attrs, attrBytes(&events[i].Attr)...), at, uint64(8*len(events[i].IDs)))
	}
	binary.LittleEndian.PutUint64(head[8:], fileHeader)
	binary.LittleEndian.PutUint64(head[16:], writtenAttr+idSection)
	binary.LittleEndian.PutUint64(head[24:], uint64(fileHeader+len(ids)))
	binary.LittleEndian.PutUint64(head[32:], uint64(len(attrs)))
	b := append(append(head, ids...), attrs...)
	o.features = make(map[int]section)
	b = o.appendBodies(b, 0, features)
	if _, err := o.file.WriteAt(b, 0); err != nil {
		return err
	}
	o.from, o.to = int64(len(b)), int64(len(b))
	// Readers take a recording without a byte of records for one whose recorder was killed.
	first := appendRecord(nil, recordFinishedRound)
	if body, ok := features[featureCompressed]; ok {
		// If the recorder is killed in add, the list of features is missing, and perf takes this.
		first = featureRecord(featureCompressed, body)
	}
	return o.add(first)
}

// appendBodies appends features to b, which will be at an offset of the file, and notes where
// they are. It keeps the length of b a multiple of 8.
func (o *fileOutput) appendBodies(b []byte, offset int64, features map[int][]byte) []byte {
	for number := range maxFeatures {
		if body, ok := features[number]; ok {
			o.features[number] = section{uint64(offset) + uint64(len(b)), uint64(len(body))}
			b = pad8(append(b, body...))
		}
	}
	return b
}

// add implements output.
func (o *fileOutput) add(records []byte) error {
	if err := o.putHeader(false); err != nil { // the list is about to be overwritten
		return err
	}
	if _, err := o.file.WriteAt(o.appendList(records), o.to); err != nil {
		return errors.Join(err, o.restoreList())
	}
	o.to += int64(len(records))
	return o.putHeader(true)
}

// restoreList writes the list of features again, in the place that it had, after a write failed
// that may have overwritten a part of it.
func (o *fileOutput) restoreList() error {
	if _, err := o.file.WriteAt(o.appendList(nil), o.to); err != nil {
		return err
	}
	return o.putHeader(true)
}

// appendList appends the list of features to b.
func (o *fileOutput) appendList(b []byte) []byte {
	for number := range maxFeatures {
		if s, ok := o.features[number]; ok {
			b = appendWords(b, s.offset, s.size)
		}
	}
	return b
}

// putHeader writes where the records are, and which features are listed after them.
func (o *fileOutput) putHeader(list bool) error {
	const dataSection = 40 // offset of the part of the header that changes
	b := appendWords(nil, uint64(o.from), uint64(o.to-o.from), 0, 0)
	var bitmap [maxFeatures / 64]uint64
	for number := range o.features {
		if list {
			bitmap[number/64] |= 1 << (number % 64)
		}
	}
	_, err := o.file.WriteAt(appendWords(b, bitmap[:]...), dataSection)
	return err
}

func (o *fileOutput) end(features map[int][]byte) error {
	if err := o.putHeader(false); err != nil {
		return err
	}
	early := maps.Clone(o.features)
	for number := range features {
		o.features[number] = section{} // it takes room in the list
	}
	const entry = 16 // bytes in the list
	bodies := o.appendBodies(nil, o.to+int64(entry*len(o.features)), features)
	if _, err := o.file.WriteAt(append(o.appendList(nil), bodies...), o.to); err != nil {
		o.features = early
		return errors.Join(err, o.restoreList())
	}
	if err := o.putHeader(true); err != nil {
		return err
	}
	return o.file.Close()
}

func (o *fileOutput) discard() error { return o.file.Close() }
