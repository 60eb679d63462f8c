package callchain

import (
	"debug/elf"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// maxSegments is more than linkers make. Every lookup of a function scans the segments.
const maxSegments = 64

// codeSegments returns the executable PT_LOAD segments.
func codeSegments(m *elfimage.Image) (code []*elf.ProgHeader) {
	for i := range m.Segments {
		p := &m.Segments[i]
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && len(code) < maxSegments {
			code = append(code, p)
		}
	}
	return code
}
