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

// maxRatio is the largest accepted ratio of uncompressed to compressed bytes. DWARF's is 3 or
// 4.
const maxRatio = 200

// ErrTooLarge is wrapped by Uncompressed's error if a section is larger than the caller's
// limit, or claims an impossible uncompressed size.
var ErrTooLarge = errors.New("more debug information than any real file has")

// Uncompressed reads the first section with that name, or returns nil if there is none. The
// section may be compressed: by zlib or zstd with the flag SHF_COMPRESSED (gABI, chapter 4), or
// by zlib in a section named .zdebug that starts with "ZLIB" and the size (old GNU tools).
// limit applies to the uncompressed bytes.
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

// compressed reads a section with a compression header. It uses debug/elf, whose zstd reader
// the standard library exports nowhere else. debug/elf gets each section as a file of its own,
// after its size was checked.
func (m *Image) compressed(s *elf.SectionHeader, limit uint64) ([]byte, error) {
	head, err := m.Read(s.Offset, 3*m.WordSize(), maxTable)
	if err != nil {
		return nil, err
	}
	if !believable(m.Word(head[m.WordSize():]), s.Size, limit) {
		return nil, ErrTooLarge
	}
	packed, err := m.Read(s.Offset, s.Size, limit)
	if err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(m.alone(s, packed)))
	if err != nil {
		return nil, fmt.Errorf("open for decompression: %w", err)
	}
	return file.Sections[1].Data()
}

// alone returns an ELF file with one compressed section. From the real file debug/elf would
// read all headers and names, however long these claim to be.
func (m *Image) alone(s *elf.SectionHeader, packed []byte) []byte {
	const sections = 3 // the null section, the section, the section names
	if !m.Is64 {
		header := elf.Header32{Version: 1, Shoff: 52, Ehsize: 52, Shentsize: 40, Shnum: sections, Shstrndx: 2, Machine: uint16(m.Machine)}
		copy(header.Ident[:], elf.ELFMAG)
		header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS32), m.dataEncoding(), 1
		at := uint32(52 + sections*40)
		return m.encode(header, elf.Section32{},
			elf.Section32{Type: uint32(elf.SHT_PROGBITS), Flags: uint32(elf.SHF_COMPRESSED), Off: at, Size: uint32(len(packed))},
			elf.Section32{Type: uint32(elf.SHT_STRTAB), Off: at + uint32(len(packed)), Size: 1}, packed, byte(0))
	}
	header := elf.Header64{Version: 1, Shoff: 64, Ehsize: 64, Shentsize: 64, Shnum: sections, Shstrndx: 2, Machine: uint16(m.Machine)}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), m.dataEncoding(), 1
	at := uint64(64 + sections*64)
	return m.encode(header, elf.Section64{},
		elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_COMPRESSED), Off: at, Size: uint64(len(packed))},
		elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: at + uint64(len(packed)), Size: 1}, packed, byte(0))
}

func (m *Image) dataEncoding() byte {
	if m.Order == binary.BigEndian {
		return byte(elf.ELFDATA2MSB)
	}
	return byte(elf.ELFDATA2LSB)
}

func (m *Image) encode(parts ...any) []byte {
	var out bytes.Buffer
	for _, part := range parts {
		_ = binary.Write(&out, m.Order, part) // writing to a Buffer never fails
	}
	return out.Bytes()
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

// believable reports whether the uncompressed size claimed by a compressed section is possible.
func believable(size, packed, limit uint64) bool {
	return size <= limit && size/maxRatio <= packed
}
