package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// deflater packs records into COMPRESSED records. All payloads are one zstd frame, which is flushed
// after each of them and never ended. See inflater.
type deflater struct {
	level         int
	zstd          *zstd.Encoder
	out           bytes.Buffer // what zstd wrote
	packed        []byte       // memory for pack
	unpackedBytes uint64       // of all records so far
	packedBytes   uint64       // of all COMPRESSED records so far
}

// chunkBytes is how many bytes of records a COMPRESSED record holds at most. perf unpacks each into
// a buffer of the size that HEADER_COMPRESSED says, and fails if it gets nothing. So a chunk must
// not be split: bytes that cannot be packed grow by less than 64, and still fit in one record.
const chunkBytes = maxRecord - headerSize - 64

// windowBytes is how far back a repetition may be. It bounds the encoder's memory.
const windowBytes = 1 << 20

func newDeflater(level int) (*deflater, error) {
	if level < 1 || level > 22 {
		return nil, fmt.Errorf("zstd has the levels 1 to 22, not %d", level)
	}
	d := &deflater{level: level}
	var err error
	d.zstd, err = zstd.NewWriter(&d.out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(windowBytes), zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
	return d, err
}

// pack returns COMPRESSED records with the contents of b. They are valid until the next call.
func (d *deflater) pack(b []byte) ([]byte, error) {
	d.packed = d.packed[:0]
	d.unpackedBytes += uint64(len(b))
	for len(b) > 0 {
		chunk := b[:min(len(b), chunkBytes)]
		b = b[len(chunk):]
		d.out.Reset()
		if _, err := d.zstd.Write(chunk); err != nil {
			return nil, err
		}
		if err := d.zstd.Flush(); err != nil {
			return nil, err
		}
		d.packed = appendPacked(d.packed, d.out.Bytes())
	}
	d.packedBytes += uint64(len(d.packed))
	return d.packed, nil
}

// appendPacked appends a COMPRESSED record. Its size need not be a multiple of 8: the payload's
// length is what the size says.
func appendPacked(b, payload []byte) []byte {
	at := len(b)
	b = append(append(b, make([]byte, headerSize)...), payload...)
	putHeader(b[at:], recordCompressed, 0)
	return b
}

// feature returns HEADER_COMPRESSED. perf needs it to read the first COMPRESSED record.
func (d *deflater) feature() []byte {
	const version, zstdType = 1, 1
	ratio := d.unpackedBytes / max(d.packedBytes, 1)
	var b []byte
	for _, v := range []uint32{version, zstdType, uint32(d.level), uint32(ratio), chunkBytes} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}
