package annotate

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/host/kcore"
	"github.com/ringtap/ringtap/symbols"
)

// code is the machine code of a function, and what is known about it.
type code struct {
	machine elf.Machine
	address uint64 // of the first byte
	bytes   []byte
	// name returns the name of the function or the variable at an address, and its start; "" if it has none.
	name func(address uint64) (name string, start uint64)
	// lines returns the source lines of an address, the innermost inlined function's first; nil without
	// debug information.
	lines func(address uint64) []symbols.Line
}

// maxCode bounds the size of a function, in bytes.
const maxCode = 1 << 20

var errSize = fmt.Errorf("the size of the function is not known, or over %d MiB", maxCode>>20)

// code reads the code of a function that passes check.
func (f *functions) code(fn *function) (*code, error) {
	if fn.object.Kernel {
		k, err := f.kernel()
		if err != nil {
			return nil, err
		}
		return k.code(fn.start)
	}
	file, err := f.file(fn)
	if err != nil {
		return nil, err
	}
	return fileCode(file, fn.start)
}

// fileCode reads the code of a function that starts at a file offset.
func fileCode(file *symbols.File, start uint64) (*code, error) {
	size, ok := extent(file, start)
	if !ok || size > maxCode {
		return nil, errSize
	}
	address, ok := file.Vaddr(start)
	if !ok {
		return nil, fmt.Errorf("offset %#x is not loaded", start)
	}
	text, err := file.Code(start, size)
	if err != nil {
		return nil, err
	}
	return &code{
		machine: file.Machine(), address: address, bytes: text,
		name: func(address uint64) (string, uint64) { return nameOf(file, address) },
		lines: func(in uint64) []symbols.Line {
			lines, _ := file.Lines(start + in - address) // without them, the code is shown alone
			return lines
		},
	}, nil
}

// extent returns the size of a function that starts at a file offset.
func extent(file *symbols.File, start uint64) (size uint64, ok bool) {
	if symbol, ok := file.Lookup(start); ok && symbol.Start == start {
		return symbol.Size, true
	}
	if symbol, ok := file.Implied(start); ok && symbol.Start == start {
		return symbol.Size, true
	}
	begin, size, ok := file.Bounds(start)
	return size - (start - begin), ok
}

// nameOf returns the name of the function or the variable at an address of a file.
func nameOf(file *symbols.File, address uint64) (name string, start uint64) {
	if offset, ok := file.Offset(address); ok {
		if symbol, ok := file.Lookup(offset); ok {
			return symbols.DemangleShort(symbol.Name), address - (offset - symbol.Start)
		}
	}
	if raw, start, ok := file.Variable(address); ok {
		return symbols.DemangleShort(raw), start
	}
	return "", 0
}

// kernel is the code of the recorded kernel, in its memory. It has no source lines.
type kernel struct {
	machine elf.Machine
	memory  *kcore.Reader
	symbols *symbols.Kallsyms
}

// errNoKernel is wrapped by the error of a kernel function whose code can't be read.
var errNoKernel = errors.New("its code is only in the kernel's memory")

func openKernel(o *Options) (*kernel, error) {
	if o.KernelMemory == nil {
		return nil, errNoKernel
	}
	host := o.Source.Host()
	k := &kernel{machine: elf.EM_X86_64}
	if host.Arch() == callchain.ARM64 {
		k.machine = elf.EM_AARCH64
	}
	text, err := host.Kallsyms()
	if err != nil {
		return nil, err
	}
	defer text.Close()
	if k.symbols, err = symbols.ReadKallsyms(text); err != nil {
		return nil, err
	}
	if k.memory, err = o.KernelMemory(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoKernel, err)
	}
	return k, nil
}

// code reads the code of the function at an address.
func (k *kernel) code(start uint64) (*code, error) {
	symbol, ok := k.symbols.Lookup(start)
	if !ok || symbol.Start != start || symbol.Size > maxCode {
		return nil, errSize
	}
	text := make([]byte, symbol.Size)
	if _, err := k.memory.ReadAt(text, start); err != nil {
		return nil, err
	}
	return &code{
		machine: k.machine, address: start, bytes: text,
		name: func(address uint64) (string, uint64) {
			s, _ := k.symbols.Lookup(address)
			return s.Name, s.Start
		},
		lines: func(uint64) []symbols.Line { return nil },
	}, nil
}
