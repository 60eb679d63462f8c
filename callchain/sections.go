package callchain

import (
	"debug/elf"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// maxSection is the largest section that is read. The largest .eh_frame seen
// in the wild, a browser's with everything in one file, has some 40 MiB.
const maxSection = 128 << 20

// maxSegments is more than linkers make; each is looked at for each function.
const maxSegments = 64

// codeSegments gives the executable segments that are loaded.
func codeSegments(m *elfimage.Image) (code []*elf.ProgHeader) {
	for i := range m.Segments {
		p := &m.Segments[i]
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && len(code) < maxSegments {
			code = append(code, p)
		}
	}
	return code
}

// segmentData reads at most size bytes of a segment from a virtual address on.
// What the file does not have is left out.
func (c *compiler) segmentData(p *elf.ProgHeader, addr, size uint64) ([]byte, error) {
	skip := addr - p.Vaddr
	size = min(size, p.Filesz-skip, maxSection)
	if err := c.file.CheckHoles(p.Off+skip, size); err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(c.file.Reader, int64(p.Off+skip), int64(size)))
}

// ehFrame finds the exception tables; nil if there are none.
func (c *compiler) ehFrame() (*frameSection, error) {
	if s, ok := c.file.Section(".eh_frame"); ok {
		data, err := c.file.Uncompressed(s.Name, maxSection)
		if err != nil {
			return nil, err
		}
		return &frameSection{data: data, addr: s.Addr}, nil
	}
	for i := range c.file.Segments {
		if p := &c.file.Segments[i]; p.Type == elf.PT_GNU_EH_FRAME {
			return c.ehFrameByHeader(p)
		}
	}
	return nil, nil
}

// ehFrameByHeader follows .eh_frame_hdr's pointer to .eh_frame (Linux Standard
// Base, "The .eh_frame_hdr section"). The size of .eh_frame is not said there:
// it ends with a terminator, or with its segment.
func (c *compiler) ehFrameByHeader(hdr *elf.ProgHeader) (*frameSection, error) {
	head, err := c.segmentData(hdr, hdr.Vaddr, 64)
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
	for i := range c.file.Segments {
		p := &c.file.Segments[i]
		if p.Type == elf.PT_LOAD && addr-p.Vaddr < p.Filesz {
			data, err := c.segmentData(p, addr, p.Filesz)
			if err != nil {
				return nil, fmt.Errorf("read .eh_frame at %#x: %w", addr, err)
			}
			return &frameSection{data: data, addr: addr}, nil
		}
	}
	return nil, fmt.Errorf("read .eh_frame at %#x: no segment holds it", addr)
}

// debugFrame finds .debug_frame, compressed or not; nil if there is none.
func (c *compiler) debugFrame() (*frameSection, error) {
	data, err := c.file.Uncompressed(".debug_frame", maxSection)
	if data == nil {
		return nil, err
	}
	return &frameSection{data: data, debug: true}, nil
}
