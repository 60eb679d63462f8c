package uprobe

import (
	"debug/elf"
	"errors"
	"fmt"
)

// Variable returns the location of a target's variable or function, for a fetch argument
// @+OFFSET. offset is relative to the address that file offset 0 would have if the whole file
// were mapped like its code. size is 0 if the symbol has none. Errors are as for Resolve.
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

// codeBias returns the difference between the addresses of the code and its file offsets.
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
