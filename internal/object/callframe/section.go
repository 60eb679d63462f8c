package callframe

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"sync"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Bounds for untrusted files.
const (
	maxSection   = 128 << 20 // bytes; the largest we have seen, a browser's, has about 40 MiB
	maxFunctions = 2 << 20   // a few times the number in the largest programs
	maxFDE       = 1 << 20   // bytes
	maxCIE       = 4 << 10   // bytes
	maxCIEs      = 1 << 14   // that are cached
)

// usualRecord is how many bytes of a record are read before its length is known. Most records
// are shorter.
const usualRecord = 192

// Section is an .eh_frame or .debug_frame section. Goroutines may share it if they may share
// the file's reader, which must stay readable.
type Section struct {
	image  *elfimage.Image
	file   io.ReaderAt // only the section
	addr   uint64      // virtual address of its first byte; 0 for .debug_frame
	size   uint64
	debug  bool         // .debug_frame
	header *searchTable // nil if there is no usable one

	mu      sync.Mutex
	cies    map[uint64]*CIE // by offset; nil if the CIE is not understood
	whole   bool            // the header is known to have every function
	scanned bool            // places is filled
	places  []place         // sorted by start
}

// EHFrame finds a file's .eh_frame by its section or, in a file without sections, through
// PT_GNU_EH_FRAME. It returns nil if there is none.
func EHFrame(m *elfimage.Image) (*Section, error) {
	head := findHeader(m)
	if s, ok := m.Section(".eh_frame"); ok && s.Flags&elf.SHF_COMPRESSED == 0 {
		if s.Size > maxSection {
			return nil, fmt.Errorf("read .eh_frame: %d bytes: %w", s.Size, elfimage.ErrTooLarge)
		}
		return newSection(m, s.Addr, s.Offset, s.Size, head)
	}
	if head == nil {
		return nil, nil
	}
	addr, err := head.frames()
	if err != nil {
		return nil, err
	}
	for i := range m.Segments {
		if p := &m.Segments[i]; p.Type == elf.PT_LOAD && addr-p.Vaddr < p.Filesz {
			skip := addr - p.Vaddr
			return newSection(m, addr, p.Off+skip, min(p.Filesz-skip, maxSection), head)
		}
	}
	return nil, fmt.Errorf("read .eh_frame at %#x: no segment holds it", addr)
}

func newSection(m *elfimage.Image, addr, offset, size uint64, head *header) (*Section, error) {
	if err := m.CheckHoles(offset, size); err != nil {
		return nil, err
	}
	s := &Section{image: m, file: io.NewSectionReader(m.Reader, int64(offset), int64(size)), addr: addr, size: size}
	if head != nil {
		s.header = head.table()
	}
	return s, nil
}

// DebugFrame finds .debug_frame, compressed or not. It returns nil if there is none. A
// compressed section is held in memory.
func DebugFrame(m *elfimage.Image) (*Section, error) {
	if s, ok := m.Section(".debug_frame"); ok && s.Flags&elf.SHF_COMPRESSED == 0 {
		if s.Size > maxSection {
			return nil, fmt.Errorf("read .debug_frame: %d bytes: %w", s.Size, elfimage.ErrTooLarge)
		}
		d, err := newSection(m, 0, s.Offset, s.Size, nil)
		if err != nil {
			return nil, err
		}
		d.debug = true
		return d, nil
	}
	data, err := m.Uncompressed(".debug_frame", maxSection)
	if data == nil {
		return nil, err
	}
	return &Section{image: m, file: bytes.NewReader(data), size: uint64(len(data)), debug: true}, nil
}

// Find returns the record of the function with the byte at a virtual address. The caller owns
// the bytes of its Program; the CIE is shared.
func (s *Section) Find(vaddr uint64) (Function, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.header != nil {
		switch f, found := s.search(vaddr); {
		case found == holds:
			return f, true
		case found == absent && s.complete():
			return Function{}, false
		}
		s.header = nil // the table is wrong
	}
	s.scan()
	i := lastPlace(s.places, vaddr)
	if i < 0 {
		return Function{}, false
	}
	f, ok := s.function(s.places[i].record)
	return f, ok && vaddr-f.Start < f.End-f.Start
}

// FunctionStart returns the start and end of the function with the byte at a virtual address.
func (s *Section) FunctionStart(vaddr uint64) (start, end uint64, ok bool) {
	f, ok := s.Find(vaddr)
	return f.Start, f.End, ok
}

// Len returns the number of functions. Some may not be readable.
func (s *Section) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.header != nil {
		return s.header.count
	}
	s.scan()
	return len(s.places)
}

// At returns function i in the order of start addresses. Ownership is as with Find.
func (s *Section) At(i int) (Function, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.header != nil {
		if p, ok := s.header.place(i, 0); ok {
			return s.function(p.record - s.addr)
		}
		return Function{}, false
	}
	s.scan()
	if i < 0 || i >= len(s.places) {
		return Function{}, false
	}
	return s.function(s.places[i].record)
}

// function reads the FDE at an offset of the section.
func (s *Section) function(off uint64) (f Function, ok bool) {
	rec, ok := s.record(off, maxFDE)
	if !ok || rec.cie {
		return f, false
	}
	c := s.cie(rec.owner)
	if c == nil {
		return f, false
	}
	return s.parseFDE(&rec, c)
}

// cie reads the CIE at an offset of the section. It returns nil if it does not understand it.
func (s *Section) cie(off uint64) *CIE {
	if c, ok := s.cies[off]; ok {
		return c
	}
	var c *CIE
	if rec, ok := s.record(off, maxCIE); ok && rec.cie {
		if c, ok = s.parseCIE(&rec); !ok {
			c = nil
		}
	}
	if s.cies == nil || len(s.cies) == maxCIEs {
		s.cies = make(map[uint64]*CIE)
	}
	s.cies[off] = c
	return c
}

// record reads a complete record of at most limit bytes into new memory.
func (s *Section) record(off, limit uint64) (record, bool) {
	for n := uint64(usualRecord); ; {
		b := s.read(off, n)
		rec, ok := s.frame(off, b)
		if !ok || rec.next-off > limit {
			return rec, false
		}
		if rec.next-off <= uint64(len(b)) {
			return rec, true
		}
		if uint64(len(b)) < n {
			return rec, false // the file is shorter
		}
		n = rec.next - off
	}
}

// read returns n bytes of the section starting at off, or fewer at its end.
func (s *Section) read(off, n uint64) []byte {
	if off >= s.size {
		return nil
	}
	b := make([]byte, min(n, s.size-off))
	got, _ := s.file.ReadAt(b, int64(off))
	return b[:got]
}
