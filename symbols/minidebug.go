package symbols

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Limits of MiniDebugInfo. Symbols are compressed to about a fifth; the largest browsers have
// some 50 MiB of them. While a section is unpacked, both it and the dictionary are in memory.
const (
	maxMiniPacked   = 32 << 20 // bytes of the section
	maxMiniUnpacked = 64 << 20
	maxMiniRatio    = 32 // unpacked bytes per packed byte
	miniGarbage     = 8 << 20
)

// ErrSkipped is wrapped by the error for a table that is not read because it would take more
// memory than allowed.
var ErrSkipped = errors.New("left out")

// addMiniDebug collects the symbols of .gnu_debugdata, an xz-compressed ELF
// file with the functions that .dynsym leaves out. It uses at most maxBytes bytes of
// memory, unless maxBytes is 0. (The layout is documented in GDB's manual,
// "MiniDebugInfo".)
func (b *builder) addMiniDebug(m *elfimage.Image, maxBytes int) error {
	s, ok := m.Section(".gnu_debugdata")
	if !ok {
		return nil
	}
	packed, err := m.Read(s.Offset, s.Size, maxMiniPacked)
	if err != nil {
		return fmt.Errorf("read .gnu_debugdata: %w", err)
	}
	limit := min(maxMiniUnpacked, maxMiniRatio*len(packed))
	if maxBytes > 0 {
		limit = min(limit, max(maxBytes-len(packed), 0)/2) // halved, since the dictionary may be as large as the result
	}
	data, err := unxz(packed, limit)
	if err != nil {
		return fmt.Errorf("unpack .gnu_debugdata: %w", err)
	}
	if len(data) > miniGarbage {
		// Free this before the next file needs as much: otherwise the garbage collector waits
		// until the heap has doubled.
		defer debug.FreeOSMemory()
	}
	mini, err := elfimage.New(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("open .gnu_debugdata: %w", err)
	}
	symtab, ok := mini.SectionOf(elf.SHT_SYMTAB)
	if !ok {
		return nil
	}
	if err := b.addSymtab(mini, symtab, nil); err != nil {
		return fmt.Errorf(".gnu_debugdata: %w", err)
	}
	return nil
}
