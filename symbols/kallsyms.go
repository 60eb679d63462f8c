package symbols

import (
	"errors"
	"io"
)

// ErrAddressesHidden is returned by ReadKallsyms when every address reads as
// zero, which is how the kernel answers a reader who may not see them
// (kernel/ksyms_common.c, kallsyms_show_value).
var ErrAddressesHidden = errors.New("the kernel hides its addresses in kallsyms: " +
	"set kernel.kptr_restrict=0 and kernel.perf_event_paranoid=1, " +
	"or set kernel.kptr_restrict=1 and run with CAP_SYSLOG")

// Limits that kallsyms needs beside those of every table.
const (
	maxModules        = 1<<16 - 1
	maxKernelFunction = 1 << 20 // bytes; a longer distance to the next symbol is a gap
	kernelPage        = 4096    // the smallest page of any architecture; kallsyms has no sizes
)

// Kallsyms is the kernel's own symbol table, of functions only. It never changes
// once read: modules that come later, and BPF programs, need a new one. It
// holds about 18 bytes and the name for each function.
type Kallsyms struct {
	table   table
	module  []uint16 // of each entry of table, an index into modules
	modules []string // [0] is "", the kernel proper
}

// ReadKallsyms reads text in the form of /proc/kallsyms: see EachKernelSymbol.
// Functions are the types t, T, w and W of nm(1); lines of other types only end
// the function before them. Of several names at one address it keeps one, by
// the same preference as File (see doc.go). Names stand as they are, with the
// compiler's .cold, .isra.0 or .constprop.0, and so do the pseudo modules bpf
// and __builtin__ftrace. A line that has another form is an error, as are
// addresses that the kernel hides: ErrAddressesHidden.
func ReadKallsyms(r io.Reader) (*Kallsyms, error) {
	// As much as most kernels have.
	p := kallsymsParser{symbols: make([]kernelSymbol, 0, 128<<10), names: make([]byte, 0, 4<<20)}
	return p.parse(r)
}

// Lookup returns the function that holds the kernel address addr. An address in
// a gap (after a module's last function, between modules) has none. It
// allocates nothing.
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
