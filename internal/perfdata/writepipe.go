package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
)

// NewPipeWriter starts a recording of events in the form of "perf record -o -", which needs no
// seeking. Close does not close out.
//
// Features that do not fit in a record of 64 KiB are left out, and so are those of Sections.Other
// with numbers from 32 on: perf report refuses a pipe with a feature that it does not know. The
// symbols are in EVENT_UPDATE records of a type that perf skips: see updateSymbols.
func NewPipeWriter(out io.Writer, events []Event, opts WriteOptions) (*Writer, error) {
	w, err := newWriter(events, opts)
	if err != nil {
		return nil, err
	}
	if err := w.start(&pipeOutput{out: out}, events, opts); err != nil {
		return nil, err
	}
	return w, nil
}

// pipeFeatures is how many features perf 6.1 knows.
const pipeFeatures = 32

// updateSymbols is the type of EVENT_UPDATE records, whose own types are small numbers, that have a
// part of feature 132. The record is, after its header: this type, an event's id, and the length of
// the part, in 64 bits each; then the part. The feature is all parts, one after the other.
const updateSymbols = featureSymbols

// pipeOutput has everything in records.
type pipeOutput struct {
	out io.Writer
	id  uint64 // of the first event; 0: it has none
}

func (o *pipeOutput) start(events []Event, features map[int][]byte) error {
	b := appendWords([]byte(Magic), pipeHeader)
	if len(events[0].IDs) > 0 {
		o.id = events[0].IDs[0]
	}
	for i := range events {
		e := &events[i]
		ids := appendWords(nil, e.IDs...)
		if headerSize+writtenAttr+len(ids) > maxRecord {
			return fmt.Errorf("event %d has too many ids (%d) for a pipe: write a file", i, len(e.IDs))
		}
		b = appendRecord(b, recordAttr, attrBytes(&e.Attr), ids)
	}
	for i := range events {
		const name, longest = 2, 4096 // PERF_EVENT_UPDATE__NAME
		if e := &events[i]; len(e.IDs) > 0 && len(e.Name) <= longest {
			b = appendRecord(b, recordEventUpdate, appendWords(nil, name, e.IDs[0]), []byte(e.Name), []byte{0})
		}
	}
	b = append(b, featureRecords(features)...)
	if formats, ok := features[featureTracingData]; ok {
		formats = pad8(bytes.Clone(formats)) // perf wants the size of both
		b = appendRecord(b, recordTracingData, appendWords(nil, uint64(len(formats))))
		b = append(b, formats...)
	}
	_, err := o.out.Write(b)
	return err
}

// featureRecords returns HEADER_FEATURE records. It leaves out what does not fit in a record, and
// what a pipe has records of other types for.
func featureRecords(features map[int][]byte) (b []byte) {
	for _, number := range slices.Sorted(maps.Keys(features)) {
		body := features[number]
		if number >= pipeFeatures || number == featureTracingData || number == featureBuildID || len(body) > maxRecord-16 {
			continue
		}
		b = append(b, featureRecord(number, body)...)
	}
	return b
}

func (o *pipeOutput) add(records []byte) error {
	_, err := o.out.Write(records)
	return err
}

func (o *pipeOutput) end(features map[int][]byte) error {
	b := featureRecords(features)
	for ids := features[featureBuildID]; len(ids) > 0; { // each has the header of a record
		size := binary.LittleEndian.Uint16(ids[6:])
		b = append(b, ids[:size]...)
		binary.LittleEndian.PutUint32(b[len(b)-int(size):], recordBuildID)
		ids = ids[size:]
	}
	if o.id != 0 { // perf refuses an update of an event that it does not know
		const fixed = headerSize + 3*8
		for part := range slices.Chunk(features[featureSymbols], maxRecord-fixed) {
			b = appendRecord(b, recordEventUpdate, appendWords(nil, updateSymbols, o.id, uint64(len(part))), part)
		}
	}
	_, err := o.out.Write(b)
	return err
}

func (o *pipeOutput) discard() error { return nil }
