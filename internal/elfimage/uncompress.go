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
// sections only after their sizes were found sane, each as a file of its own.
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

// alone makes an ELF file of one compressed section: the library would read all
// headers and names of the real file, however long that says they are.
func (m *Image) alone(s *elf.SectionHeader, packed []byte) []byte {
	const sections = 3 // none, the section, the names of sections
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
		_ = binary.Write(&out, m.Order, part) // a Buffer takes everything
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

// believable checks the size that a compressed section says it will have.
func believable(size, packed, limit uint64) bool {
	return size <= limit && size/maxRatio <= packed
}
