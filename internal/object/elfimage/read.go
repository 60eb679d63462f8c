package elfimage

import (
	"debug/elf"
	"fmt"
	"io"
)

// probed is the largest read, in bytes, that does not check first whether the file has the
// bytes.
const probed = 1 << 20

// Read returns n bytes at a file offset. The caller owns them. It returns an error if the file
// does not have them or n is larger than limit.
func (m *Image) Read(off, n, limit uint64) ([]byte, error) {
	if n > limit {
		return nil, fmt.Errorf("%d bytes at offset %d: more than the limit of %d", n, off, limit)
	}
	if off > uint64(m.Size) || n > uint64(m.Size)-off {
		return nil, fmt.Errorf("%d bytes at offset %d: %w", n, off, io.ErrUnexpectedEOF)
	}
	if n > probed {
		var last [1]byte
		if got, err := m.Reader.ReadAt(last[:], int64(off+n-1)); got == 0 {
			return nil, fmt.Errorf("%d bytes at offset %d: %w", n, off, unexpected(err))
		}
		if err := m.CheckHoles(off, n); err != nil {
			return nil, err
		}
	}
	b := make([]byte, n)
	if got, err := m.Reader.ReadAt(b, int64(off)); uint64(got) < n {
		return nil, fmt.Errorf("%d bytes at offset %d: %w", n, off, unexpected(err))
	}
	return b, nil
}

func unexpected(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Bytes reads a section as it is in the file, at most 512 MiB.
func (m *Image) Bytes(s *elf.SectionHeader) ([]byte, error) {
	b, err := m.Read(s.Offset, s.Size, maxTable)
	if err != nil {
		return nil, fmt.Errorf("read section %s: %w", s.Name, err)
	}
	return b, nil
}

// BytesAt reads n bytes at a virtual address, at most 512 MiB.
func (m *Image) BytesAt(vaddr, n uint64) ([]byte, error) {
	off, ok := m.Offset(vaddr)
	if !ok {
		return nil, fmt.Errorf("address %#x is in no segment of the file", vaddr)
	}
	return m.Read(off, n, maxTable)
}

// Vaddr returns the virtual address of the byte at a file offset, according to the program
// headers. Linkers let the pages of two segments overlap in the file, but never their bytes. If
// bytes overlap nevertheless, the executable segment wins, because callers look up code.
func (m *Image) Vaddr(offset uint64) (uint64, bool) {
	found := false
	var addr uint64
	for i := range m.Segments {
		s := &m.Segments[i]
		if s.Type != elf.PT_LOAD || offset < s.Off || offset-s.Off >= s.Filesz {
			continue
		}
		if s.Flags&elf.PF_X != 0 {
			return s.Vaddr + (offset - s.Off), true
		}
		if !found {
			addr, found = s.Vaddr+(offset-s.Off), true
		}
	}
	return addr, found
}

// Offset is the inverse of Vaddr.
func (m *Image) Offset(vaddr uint64) (uint64, bool) {
	for i := range m.Segments {
		s := &m.Segments[i]
		if s.Type == elf.PT_LOAD && vaddr-s.Vaddr < s.Filesz {
			return s.Off + (vaddr - s.Vaddr), true
		}
	}
	return 0, false
}

// Executable reports whether a virtual address is in the file's code.
func (m *Image) Executable(vaddr uint64) bool {
	for i := range m.Segments {
		s := &m.Segments[i]
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && vaddr-s.Vaddr < s.Filesz {
			return true
		}
	}
	return false
}
