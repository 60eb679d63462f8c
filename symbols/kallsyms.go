package symbols

import (
	"errors"
	"io"
)

// ErrAddressesHidden is returned by ReadKallsyms if all addresses are zero. The kernel hides
// them from readers without the permission to see them (kernel/ksyms_common.c,
// kallsyms_show_value).
var ErrAddressesHidden = errors.New("the kernel hides its addresses in kallsyms: " +
	"set kernel.kptr_restrict=0 and kernel.perf_event_paranoid=1, " +
	"or set kernel.kptr_restrict=1 and run with CAP_SYSLOG")

// Limits for kallsyms, in addition to the limits of every table.
const (
	maxModules        = 1<<16 - 1
	maxKernelFunction = 1 << 20 // bytes; a longer distance to the next symbol is a gap
	kernelPage        = 4096    // the smallest page of any architecture; kallsyms has no sizes
)

// Kallsyms is the kernel's symbol table, functions only. It never changes: to see modules and
// BPF programs that are loaded later, read it again. It takes about 18 bytes plus the name for
// each function.
type Kallsyms struct {
	table   table
	module  []uint16 // for each entry of table, an index into modules
	modules []string // [0] is "", the kernel proper
}

// ReadKallsyms reads text in the format of /proc/kallsyms: see EachKernelSymbol. Symbols of the
// types t, T, w and W of nm(1) are functions; a symbol of another type only ends the function
// before it. If several names have the same address, it keeps the one that File would prefer
// (see the package documentation). Names are unchanged, including the compiler's .cold, .isra.0
// and .constprop.0. The pseudo modules bpf and __builtin__ftrace are kept. A malformed line is
// an error. If the kernel hides the addresses, the error is ErrAddressesHidden.
func ReadKallsyms(r io.Reader) (*Kallsyms, error) {
	// Enough for most kernels.
	p := kallsymsParser{symbols: make([]kernelSymbol, 0, 128<<10), names: make([]byte, 0, 4<<20)}
	return p.parse(r)
}

// Lookup returns the function that contains the kernel address addr. An address in a gap (after
// a module's last function, between modules) has none. It allocates nothing.
func (k *Kallsyms) Lookup(addr uint64) (Symbol, bool) {
	i, ok := k.table.lookup(addr)
	if !ok {
		return Symbol{}, false
	}
	e := &k.table.entries[i]
	return Symbol{Name: k.table.name(i), Module: k.modules[k.module[i]], Start: e.addr, Size: uint64(e.size)}, true
}

// Len returns the number of functions.
func (k *Kallsyms) Len() int { return len(k.table.entries) }
