package callchain

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
)

// maxSection is the largest section that is read. The largest .eh_frame seen
// in the wild, a browser's with everything in one file, has some 40 MiB.
const maxSection = 128 << 20

// maxSegments is more than linkers make; each is looked at for each function.
const maxSegments = 64

// codeSegments gives the executable segments that are loaded.
func codeSegments(f *elf.File) (code []*elf.Prog) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && len(code) < maxSegments {
			code = append(code, p)
		}
	}
	return code
}

// sectionData reads a whole section, inflated if it is compressed.
func sectionData(s *elf.Section) ([]byte, error) {
	if s.Size > maxSection {
		return nil, fmt.Errorf("read section %s: %d bytes are too many", s.Name, s.Size)
	}
	data, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("read section %s: %w", s.Name, err)
	}
	return data, nil
}

// ehFrame finds the exception tables; nil if there are none.
func (c *compiler) ehFrame() (*frameSection, error) {
	if s := c.file.Section(".eh_frame"); s != nil && s.Type != elf.SHT_NOBITS {
		data, err := sectionData(s)
		if err != nil {
			return nil, err
		}
		return &frameSection{data: data, addr: s.Addr}, nil
	}
	for _, p := range c.file.Progs {
		if p.Type == elf.PT_GNU_EH_FRAME {
			return c.ehFrameByHeader(p)
		}
	}
	return nil, nil
}

// ehFrameByHeader follows .eh_frame_hdr's pointer to .eh_frame (Linux Standard
// Base, "The .eh_frame_hdr section"). The size of .eh_frame is not said there:
// it ends with a terminator, or with its segment.
func (c *compiler) ehFrameByHeader(hdr *elf.Prog) (*frameSection, error) {
	head, err := segmentData(hdr, hdr.Vaddr, 64)
	if err != nil {
		return nil, fmt.Errorf("read .eh_frame_hdr: %w", err)
	}
	r := reader{data: head}
	version, enc := r.u8(), r.u8()
	r.u16() // encodings of the search table, which is not used
	addr := r.pointer(enc, hdr.Vaddr, hdr.Vaddr)
	if version != 1 || r.bad {
		return nil, fmt.Errorf("read .eh_frame_hdr: version %d, pointer encoding %#x are not supported", version, enc)
	}
	for _, p := range c.file.Progs {
		if p.Type == elf.PT_LOAD && addr-p.Vaddr < p.Filesz {
			data, err := segmentData(p, addr, p.Filesz)
			if err != nil {
				return nil, fmt.Errorf("read .eh_frame at %#x: %w", addr, err)
			}
			return &frameSection{data: data, addr: addr}, nil
		}
	}
	return nil, fmt.Errorf("read .eh_frame at %#x: no segment holds it", addr)
}

// segmentData reads at most size bytes of a segment from a virtual address on.
// What the file does not have is left out.
func segmentData(p *elf.Prog, addr, size uint64) ([]byte, error) {
	skip := addr - p.Vaddr
	size = min(size, p.Filesz-skip, maxSection)
	return io.ReadAll(io.NewSectionReader(p, int64(skip), int64(size)))
}

// debugFrame finds .debug_frame, also in the compressed form that has its own
// section name; nil if there is none.
func (c *compiler) debugFrame() (*frameSection, error) {
	if s := c.file.Section(".debug_frame"); s != nil && s.Type != elf.SHT_NOBITS {
		data, err := sectionData(s)
		if err != nil {
			return nil, err
		}
		return &frameSection{data: data, debug: true}, nil
	}
	s := c.file.Section(".zdebug_frame")
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	data, err := sectionData(s)
	if err != nil {
		return nil, err
	}
	if data, err = inflate(data); err != nil {
		return nil, fmt.Errorf("read section %s: %w", s.Name, err)
	}
	return &frameSection{data: data, debug: true}, nil
}

// inflate unpacks a .zdebug section: "ZLIB", the size, big-endian, a zlib
// stream.
func inflate(data []byte) ([]byte, error) {
	if len(data) < 12 || string(data[:4]) != "ZLIB" {
		return nil, fmt.Errorf("no ZLIB header")
	}
	size := binary.BigEndian.Uint64(data[4:])
	if size > maxSection {
		return nil, fmt.Errorf("%d bytes are too many", size)
	}
	z, err := zlib.NewReader(bytes.NewReader(data[12:]))
	if err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(size)))
	if err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	return out, nil
}
