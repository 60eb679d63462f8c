package callchain

import (
	"debug/elf"

	"github.com/ringtap/ringtap/internal/elfimage"
)

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
