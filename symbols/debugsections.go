package symbols

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of the debug sections of one file, all together.
const (
	maxDebugBytes = 4 << 30 // uncompressed
	maxDebugRatio = 200     // of uncompressed to compressed; DWARF comes to 3 or 4
)

var errDebugSize = errors.New("more debug information than any real file has")

// debugSections gives the debug sections of an image, as dwarfline.Source. They
// are compressed in one of three ways: zlib or zstd with the section flag
// SHF_COMPRESSED (gABI, chapter 4), or zlib in a section called .zdebug that
// begins with "ZLIB" and the size (old GNU tools).
type debugSections struct {
	image *image
	total uint64
}

// SectionData returns the uncompressed bytes of a section, nil when there is
// none.
func (d *debugSections) SectionData(name string) ([]byte, error) {
	if s, ok := d.image.section(name); ok {
		if s.flags&elf.SHF_COMPRESSED != 0 {
			return d.compressed(s)
		}
		if d.total += s.size; d.total > maxDebugBytes {
			return nil, errDebugSize
		}
		return d.image.read(s.offset, s.size, maxDebugBytes)
	}
	if s, ok := d.image.section(".z" + name[1:]); ok {
		return d.gnuCompressed(s)
	}
	return nil, nil
}

// compressed reads a section with a compression header. The library's reader
// knows zstd, which the standard library has nowhere else; it is given its
// sections only after their sizes were found sane.
func (d *debugSections) compressed(s section) ([]byte, error) {
	m := d.image
	head, err := m.read(s.offset, 3*m.wordSize(), maxTable)
	if err != nil {
		return nil, err
	}
	if err := d.admit(m.word(head[m.wordSize():]), s.size); err != nil {
		return nil, err
	}
	file, err := elf.NewFile(io.NewSectionReader(m.r, 0, m.size))
	if err != nil {
		return nil, fmt.Errorf("open for decompression: %w", err)
	}
	section := file.Section(s.name)
	if section == nil {
		return nil, io.ErrUnexpectedEOF
	}
	return section.Data()
}

func (d *debugSections) gnuCompressed(s section) ([]byte, error) {
	packed, err := d.image.read(s.offset, s.size, maxDebugBytes)
	if err != nil {
		return nil, err
	}
	if len(packed) < 12 || string(packed[:4]) != "ZLIB" {
		return nil, errors.New("no header of compression")
	}
	size := binary.BigEndian.Uint64(packed[4:])
	if err := d.admit(size, s.size); err != nil {
		return nil, err
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

// admit accounts for a section that says how large it will be.
func (d *debugSections) admit(size, packed uint64) error {
	if d.total += size; size > packed*maxDebugRatio || d.total > maxDebugBytes || d.total < size {
		return errDebugSize
	}
	return nil
}
