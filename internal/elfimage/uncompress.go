package elfimage

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxRatio is the largest ratio of uncompressed to compressed bytes that is
// believed; DWARF comes to 3 or 4.
const maxRatio = 200

// ErrTooLarge is wrapped by the error of Uncompressed for a section that is
// larger than the caller's limit, or says that it unpacks to more than it can.
var ErrTooLarge = errors.New("more debug information than any real file has")

// Uncompressed reads the first section of that name, nil when there is none. It
// may be compressed in one of three ways: zlib or zstd with the section flag
// SHF_COMPRESSED (gABI, chapter 4), or zlib in a section called .zdebug that
// begins with "ZLIB" and the size (old GNU tools). The limit is on the
// uncompressed bytes.
func (m *Image) Uncompressed(name string, limit uint64) ([]byte, error) {
	s, found := m.Section(name)
	read := m.plain
	if !found {
		s, found = m.Section(".z" + name[1:])
		read = m.gnuCompressed
	} else if s.Flags&elf.SHF_COMPRESSED != 0 {
		read = m.compressed
	}
	if !found {
		return nil, nil
	}
	b, err := read(s, limit)
	if err != nil {
		return nil, fmt.Errorf("read section %s: %w", s.Name, err)
	}
	return b, nil
}

func (m *Image) plain(s *elf.SectionHeader, limit uint64) ([]byte, error) {
	if s.Size > limit {
		return nil, ErrTooLarge
	}
	return m.Read(s.Offset, s.Size, limit)
}

// compressed reads a section with a compression header. The library's reader
// knows zstd, which the standard library has nowhere else; it is given its
// sections only after their sizes were found sane.
func (m *Image) compressed(s *elf.SectionHeader, limit uint64) ([]byte, error) {
	head, err := m.Read(s.Offset, 3*m.WordSize(), maxTable)
	if err != nil {
		return nil, err
	}
	if !believable(m.Word(head[m.WordSize():]), s.Size, limit) {
		return nil, ErrTooLarge
	}
	file, err := elf.NewFile(io.NewSectionReader(m.Reader, 0, m.Size))
	if err != nil {
		return nil, fmt.Errorf("open for decompression: %w", err)
	}
	section := file.Section(s.Name)
	if section == nil {
		return nil, io.ErrUnexpectedEOF
	}
	return section.Data()
}

func (m *Image) gnuCompressed(s *elf.SectionHeader, limit uint64) ([]byte, error) {
	packed, err := m.plain(s, limit)
	if err != nil {
		return nil, err
	}
	if len(packed) < 12 || string(packed[:4]) != "ZLIB" {
		return nil, errors.New("no header of compression")
	}
	size := binary.BigEndian.Uint64(packed[4:])
	if !believable(size, s.Size, limit) {
		return nil, ErrTooLarge
	}
	r, err := zlib.NewReader(bytes.NewReader(packed[12:]))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	var out bytes.Buffer
	if _, err := io.Copy(&out, io.LimitReader(r, int64(size))); err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return out.Bytes(), nil
}

// believable checks the size that a compressed section says it will have.
func believable(size, packed, limit uint64) bool {
	return size <= limit && size/maxRatio <= packed
}
