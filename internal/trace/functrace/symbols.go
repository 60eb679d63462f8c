package functrace

import (
	"io"
	"strconv"

	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/symbols"
)

// functions names kernel functions. Each one is looked up once.
type functions struct {
	lookup func(addr uint64) (name string, offset, size uint64, module string, ok bool)
	plain  map[uint64]string // as in traces of calls
	full   map[uint64]string // with the module, as in graphs
}

func newFunctions(printing printfmt.Options) *functions {
	return &functions{lookup: printing.KernelSymbol, plain: map[uint64]string{}, full: map[uint64]string{}}
}

// name returns the name of the function at addr, or the address.
func (f *functions) name(addr uint64) string {
	name, ok := f.plain[addr]
	if !ok {
		name, _ = f.find(addr)
		switch name {
		case "arch_rethook_trampoline", "kretprobe_trampoline", "__kretprobe_trampoline":
			name = "[unknown/kretprobe'd]" // the kernel's text for a caller that it has hidden itself
		case "":
			name = "0x" + strconv.FormatUint(addr, 16)
		}
		f.plain[addr] = name
	}
	return name
}

// withModule returns the name and module of the function at addr, or the address.
func (f *functions) withModule(addr uint64) string {
	name, ok := f.full[addr]
	if !ok {
		var module string
		if name, module = f.find(addr); name == "" {
			name = "0x" + strconv.FormatUint(addr, 16)
		} else if module != "" {
			name += " [" + module + "]"
		}
		f.full[addr] = name
	}
	return name
}

// start returns the address of the function that contains addr. The kernel calls its tracer some
// bytes after that.
func (f *functions) start(addr uint64) uint64 {
	_, offset, _, _, _ := f.lookup(addr)
	return addr - offset
}

func (f *functions) find(addr uint64) (name, module string) {
	name, offset, _, module, ok := f.lookup(addr)
	// Code made at run time is far beyond all functions.
	if !ok || offset >= 1<<20 {
		return "", ""
	}
	return name, module
}

// interruptEntries returns the range of the kernel's code where interrupts are entered. It is empty
// if it is unknown.
func interruptEntries() (start, end uint64) {
	file, err := process.Host{}.Kallsyms()
	if err != nil {
		return 0, 0
	}
	defer file.Close()
	// If a line before them is malformed, they are unknown.
	_ = symbols.EachKernelSymbol(file, func(s *symbols.KernelSymbol) error {
		switch string(s.Name) {
		case "__irqentry_text_start":
			start = s.Address
		case "__irqentry_text_end":
			end = s.Address
		}
		if start != 0 && end != 0 {
			return io.EOF
		}
		return nil
	})
	return start, end
}
