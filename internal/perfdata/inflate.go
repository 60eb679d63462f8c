package perfdata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// inflater unpacks the records in a stream's COMPRESSED records.
//
// All of them together are one zstd frame. perf flushes the frame at the end of each record and
// never ends it. So inflater unpacks one sequence of bytes: whenever the decoder needs more, it
// reads the file up to the next COMPRESSED record.
type inflater struct {
	more    func() ([]byte, error) // the next payload; io.EOF at the end
	payload []byte
	err     error // of more
}

// Read implements io.Reader for the zstd decoder.
func (i *inflater) Read(b []byte) (int, error) {
	for len(i.payload) == 0 && i.err == nil {
		i.payload, i.err = i.more()
	}
	if len(i.payload) == 0 {
		return 0, i.err
	}
	n := copy(b, i.payload)
	i.payload = i.payload[n:]
	return n, nil
}

// maxWindow is the window of the highest compression level, 22.
const maxWindow = 128 << 20

// records hands on each unpacked record until there are no more payloads. It drops a record that is
// not complete by then.
func (i *inflater) records(handOn func(record []byte) error) error {
	z, err := zstd.NewReader(i, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer z.Close()
	record := make([]byte, 1<<16)
	for {
		if _, err := io.ReadFull(z, record[:headerSize]); err != nil {
			return i.end(err)
		}
		size := int(binary.LittleEndian.Uint16(record[6:]))
		if size < headerSize {
			return fmt.Errorf("a packed record says that it has %d bytes", size)
		}
		if _, err := io.ReadFull(z, record[headerSize:size]); err != nil {
			return i.end(err)
		}
		if err := handOn(record[:size]); err != nil {
			return err
		}
	}
}

// end translates an error of the decoder. The end of the payloads is not an error.
func (i *inflater) end(err error) error {
	switch {
	case i.err == io.EOF && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return nil
	case i.err != nil && i.err != io.EOF:
		return i.err
	}
	return fmt.Errorf("unpack: %w", err)
}

// payloadOf returns the payload of a COMPRESSED or COMPRESSED2 record.
func payloadOf(record []byte) ([]byte, error) {
	body := record[headerSize:]
	if binary.LittleEndian.Uint32(record) == recordCompressed {
		return body, nil
	}
	if len(body) < 8 || binary.LittleEndian.Uint64(body) > uint64(len(body)-8) {
		return nil, errors.New("a packed record is shorter than it says")
	}
	return body[8 : 8+binary.LittleEndian.Uint64(body)], nil
}
