package perfdata

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Types of the records that perf itself writes (enum perf_user_event_type in
// tools/lib/perf/include/perf/event.h).
const (
	recordAttr          = 64
	recordTracingData   = 66
	recordBuildID       = 67
	recordFinishedRound = 68
	recordAuxtrace      = 71
	recordEventUpdate   = 78
	recordFeature       = 80
	recordCompressed    = 81
	recordCompressed2   = 83
	firstUserRecord     = 64
)

// headerSize is the size of a record's header: its type (32 bit), misc and size (16 bit each).
const headerSize = 8

// walker reads the records of a stream one after another.
type walker struct {
	s      *stream
	r      *bufio.Reader
	offset int64 // of the next record
}

// walkBuffer has room for the longest record, of 64 KiB.
const walkBuffer = 256 << 10

func newWalker(s *stream) *walker {
	section := io.NewSectionReader(s.r, s.start, s.end-s.start)
	return &walker{s: s, r: bufio.NewReaderSize(section, walkBuffer), offset: s.start}
}

// errCut is returned if the file ends in the middle of a record.
var errCut = errors.New("the file ends in a record")

// next returns the next record, which is valid until the next call. The error is io.EOF at the
// end, or a *FormatError.
func (w *walker) next() ([]byte, error) {
	head, err := w.r.Peek(headerSize)
	if err == io.EOF && len(head) == 0 {
		return nil, io.EOF
	}
	if err != nil {
		return nil, w.fail(err)
	}
	size := int(binary.LittleEndian.Uint16(head[6:]))
	if size < headerSize {
		return nil, w.fail(fmt.Errorf("a record says that it has %d bytes", size))
	}
	b, err := w.r.Peek(size)
	if err != nil {
		return nil, w.fail(err)
	}
	w.offset += int64(size)
	_, err = w.r.Discard(size) // b stays valid until the next Peek
	return b, err
}

// fail adds the offset of the next record to an error.
func (w *walker) fail(err error) error {
	if err == io.EOF {
		err = errCut
	}
	return &FormatError{w.s.name, w.offset, err}
}

// skip skips the n bytes that follow a record.
func (w *walker) skip(n uint64) error {
	if n > uint64(w.s.end-w.offset) {
		return w.fail(errCut)
	}
	for w.offset += int64(n); n > 0; {
		part := int(min(n, 1<<30))
		if _, err := w.r.Discard(part); err != nil {
			return err
		}
		n -= uint64(part)
	}
	return nil
}

// attached returns how many bytes follow a record without being part of its size.
func attached(record []byte) uint64 {
	if len(record) < 16 {
		return 0
	}
	switch binary.LittleEndian.Uint32(record) {
	case recordTracingData: // a 32 bit size, and padding to 8 bytes
		return (uint64(binary.LittleEndian.Uint32(record[8:])) + 7) &^ 7
	case recordAuxtrace:
		return binary.LittleEndian.Uint64(record[8:])
	}
	return 0
}
