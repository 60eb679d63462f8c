package symbols

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// Limits of decompression. A block header of a few bytes can ask for a dictionary of 4 GiB,
// which the library would allocate. So we parse the container here, and the library only
// decodes the blocks.
const (
	maxXZDict   = 64 << 20 // bytes; what xz -9 asks for
	maxXZBlocks = 64
)

var errXZ = errors.New("malformed xz data")

// unxz decompresses a .xz stream of LZMA2 blocks (The .xz File Format, version 1.2). If the
// stream's index says that the result is longer than limit bytes, the error wraps ErrSkipped
// and nothing is unpacked. Checksums are not verified: the result is parsed as hostile data
// anyway.
func unxz(data []byte, limit int) ([]byte, error) {
	if len(data) < 12 || string(data[:6]) != "\xfd7zXZ\x00" {
		return nil, errXZ
	}
	checkSizes := [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}
	check := checkSizes[data[7]&0xf]
	size, err := xzSize(data)
	if err != nil {
		return nil, err
	}
	if size > uint64(limit) {
		return nil, fmt.Errorf("%d bytes unpack to %d, more than %d: %w", len(data), size, limit, ErrSkipped)
	}
	in := bytes.NewReader(data[12:])
	out := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	for range maxXZBlocks {
		dict, err := xzBlockHeader(in)
		if err == io.EOF {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		before := in.Len()
		// No match reaches back beyond the first byte.
		block, err := lzma.Reader2Config{DictCap: max(min(dict, int(size)), lzma.MinDictCap)}.NewReader2(in)
		if err != nil {
			return nil, fmt.Errorf("decompress xz block: %w", err)
		}
		_, err = io.Copy(out, io.LimitReader(block, int64(size)-int64(out.Len())+1))
		if err != nil {
			return nil, fmt.Errorf("decompress xz block: %w", err)
		}
		if uint64(out.Len()) > size {
			return nil, fmt.Errorf("more than the %d bytes that its index tells: %w", size, errXZ)
		}
		padding := -(before - in.Len()) & 3
		if _, err := in.Seek(int64(padding+check), io.SeekCurrent); err != nil {
			return nil, errXZ
		}
	}
	return nil, fmt.Errorf("more than %d blocks: %w", maxXZBlocks, errXZ)
}

// xzSize returns the unpacked size of a stream, as its index has it (section 4 of the format).
// The footer has the length of the index before it.
func xzSize(data []byte) (size uint64, err error) {
	const footer = 12
	// The stream may be followed by padding.
	for len(data) > 2*footer && binary.LittleEndian.Uint32(data[len(data)-4:]) == 0 {
		data = data[:len(data)-4]
	}
	if len(data) < 2*footer || string(data[len(data)-2:]) != "YZ" {
		return 0, fmt.Errorf("no footer: %w", errXZ)
	}
	end := len(data) - footer
	length := (uint64(binary.LittleEndian.Uint32(data[end+4:])) + 1) * 4
	if length > uint64(end) || data[uint64(end)-length] != 0 {
		return 0, fmt.Errorf("no index: %w", errXZ)
	}
	index := bytes.NewReader(data[uint64(end)-length+1 : end])
	blocks, err := binary.ReadUvarint(index)
	if err != nil || blocks > maxXZBlocks {
		return 0, fmt.Errorf("more than %d blocks: %w", maxXZBlocks, errXZ)
	}
	for range blocks {
		_, err1 := binary.ReadUvarint(index) // size of the block
		unpacked, err2 := binary.ReadUvarint(index)
		if err1 != nil || err2 != nil || size+unpacked < size {
			return 0, fmt.Errorf("index: %w", errXZ)
		}
		size += unpacked
	}
	return size, nil
}

// xzBlockHeader reads a block's header (section 3.1 of the format) and returns the size of its
// dictionary, or io.EOF at the index after the last block.
func xzBlockHeader(in *bytes.Reader) (dict int, err error) {
	size, err := in.ReadByte()
	if err != nil {
		return 0, errXZ
	}
	if size == 0 {
		return 0, io.EOF
	}
	header := make([]byte, int(size)*4+3)
	if _, err := io.ReadFull(in, header); err != nil {
		return 0, errXZ
	}
	flags, fields := header[0], bytes.NewReader(header[1:len(header)-4])
	if flags&3 != 0 {
		return 0, fmt.Errorf("more filters than LZMA2: %w", errXZ)
	}
	for _, present := range []byte{0x40, 0x80} { // compressed and uncompressed size
		if flags&present != 0 {
			if _, err := binary.ReadUvarint(fields); err != nil {
				return 0, errXZ
			}
		}
	}
	var filter [3]byte // LZMA2's id, the size of its properties, the dictionary
	if _, err := io.ReadFull(fields, filter[:]); err != nil || filter[0] != 0x21 || filter[1] != 1 {
		return 0, fmt.Errorf("no LZMA2 filter: %w", errXZ)
	}
	n, err := lzma.DecodeDictCap(filter[2])
	if err != nil || n > maxXZDict {
		return 0, fmt.Errorf("dictionary of %d bytes: %w", n, errXZ)
	}
	return int(n), nil
}
