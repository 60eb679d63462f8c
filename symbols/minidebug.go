package symbols

import (
	"bytes"
	"debug/elf"
	"fmt"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// Limits of MiniDebugInfo.
const (
	maxMiniPacked   = 32 << 20 // bytes of the section
	maxMiniUnpacked = 128 << 20
)

// addMiniDebug collects the symbols of .gnu_debugdata, an xz-compressed ELF
// file with the functions that .dynsym leaves out. (The layout is documented in
// GDB's manual, "MiniDebugInfo".)
func (b *builder) addMiniDebug(m *elfimage.Image) error {
	s, ok := m.Section(".gnu_debugdata")
	if !ok {
		return nil
	}
	packed, err := m.Read(s.Offset, s.Size, maxMiniPacked)
	if err != nil {
		return fmt.Errorf("read .gnu_debugdata: %w", err)
	}
	data, err := unxz(packed, maxMiniUnpacked)
	if err != nil {
		return fmt.Errorf("unpack .gnu_debugdata: %w", err)
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
