package symbols

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// Limits of MiniDebugInfo. Symbols come to a fifth of their size or so; the largest
// browser's are some 50 MiB. While a section is unpacked it and the dictionary are in
// memory.
const (
	maxMiniPacked   = 32 << 20 // bytes of the section
	maxMiniUnpacked = 64 << 20
	maxMiniRatio    = 32 // of unpacked to packed bytes
	miniGarbage     = 8 << 20
)

// ErrSkipped is wrapped by errors of tables that are not read because they would take
// more memory than those of any real file.
var ErrSkipped = errors.New("left out")

// addMiniDebug collects the symbols of .gnu_debugdata, an xz-compressed ELF
// file with the functions that .dynsym leaves out. It takes most bytes at most, unless
// that is 0. (The layout is documented in
// GDB's manual, "MiniDebugInfo".)
func (b *builder) addMiniDebug(m *elfimage.Image, most int) error {
	s, ok := m.Section(".gnu_debugdata")
	if !ok {
		return nil
	}
	packed, err := m.Read(s.Offset, s.Size, maxMiniPacked)
	if err != nil {
		return fmt.Errorf("read .gnu_debugdata: %w", err)
	}
	limit := min(maxMiniUnpacked, maxMiniRatio*len(packed))
	if most > 0 {
		limit = min(limit, max(most-len(packed), 0)/2) // the dictionary is as large at most
	}
	data, err := unxz(packed, limit)
	if err != nil {
		return fmt.Errorf("unpack .gnu_debugdata: %w", err)
	}
	if len(data) > miniGarbage {
		// The next file's may be as large, and the collector would not look before
		// the heap has doubled.
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
