package uprobe

import (
	"debug/elf"
	"errors"
	"fmt"
)

// Variable returns where a variable or a function of a target is: from what offset 0 of the file would be
// in memory if all of it were mapped as the code is. A fetch argument @+OFFSET reads there. The size is
// 0 where the symbol has none. Errors are as for Resolve.
func Variable(name string, o Options, symbol string) (offset int64, size uint64, err error) {
	t, err := openTarget(name, o.PID)
	if err != nil {
		return 0, 0, err
	}
	defer t.close()
	addr, size, err := t.symbols.Address(symbol)
	if err == nil {
		var code uint64
		code, err = t.codeBias()
		offset = int64(addr - code)
	}
	if err != nil {
		return 0, 0, &TargetError{Path: t.Path, Err: err}
	}
	return offset, size, nil
}

// codeBias is how much further the code is at its addresses than in the file.
func (t *target) codeBias() (bias uint64, err error) {
	found := false
	for _, s := range t.image.Segments {
		if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X == 0 || s.Filesz == 0 {
			continue
		}
		if found && s.Vaddr-s.Off != bias {
			return 0, fmt.Errorf("its code is in segments apart: %w", errors.ErrUnsupported)
		}
		bias, found = s.Vaddr-s.Off, true
	}
	return bias, nil
}
