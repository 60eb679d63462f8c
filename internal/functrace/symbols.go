package functrace

import (
	"io"
	"strconv"

	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/symbols"
)

// functions names the kernel's functions, each looked up once.
type functions struct {
	lookup func(addr uint64) (name string, offset, size uint64, module string, ok bool)
	plain  map[uint64]string // as traces of calls have them
	full   map[uint64]string // with the module, as graphs have them
}

func newFunctions(printing printfmt.Options) *functions {
	return &functions{lookup: printing.KernelSymbol, plain: map[uint64]string{}, full: map[uint64]string{}}
}

// name is the function at addr, or the address.
func (f *functions) name(addr uint64) string {
	name, ok := f.plain[addr]
	if !ok {
		name, _ = f.find(addr)
		switch name {
		case "arch_rethook_trampoline", "kretprobe_trampoline", "__kretprobe_trampoline":
			name = "[unknown/kretprobe'd]" // the kernel's words for a caller that it has hidden itself
		case "":
			name = "0x" + strconv.FormatUint(addr, 16)
		}
		f.plain[addr] = name
	}
	return name
}

// withModule is the function at addr and its module, or the address.
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

// start is the address at which the function around addr begins: the kernel's
// tracer is called some bytes behind it.
func (f *functions) start(addr uint64) uint64 {
	_, offset, _, _, _ := f.lookup(addr)
	return addr - offset
}

func (f *functions) find(addr uint64) (name, module string) {
	name, offset, _, module, ok := f.lookup(addr)
	// Far behind every function lies what the kernel has made at run time.
	if !ok || offset >= 1<<20 {
		return "", ""
	}
	return name, module
}

// interruptEntries is the part of the kernel where interrupts are entered; it is
// empty if that can't be known.
func interruptEntries() (start, end uint64) {
	file, err := process.Host{}.Kallsyms()
	if err != nil {
		return 0, 0
	}
	defer file.Close()
	// What is wrong with a line before they are found leaves them unknown.
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
