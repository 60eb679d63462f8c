package kprobe

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/symbols"
)

// aliases collects the code symbols that share an address with a wanted symbol. In the kernel's
// list such symbols are adjacent.
type aliases struct {
	of map[uint64][]string

	address uint64
	names   []byte // of the current address, each followed by a newline
	wanted  bool
}

// add adds the next code symbol.
func (a *aliases) add(s *symbols.KernelSymbol, wanted bool) {
	if s.Address != a.address {
		a.end()
		a.address, a.names, a.wanted = s.Address, a.names[:0], false
	}
	a.names = append(append(a.names, s.Name...), '\n')
	a.wanted = a.wanted || wanted
}

// end keeps the names of the current address if there are several.
func (a *aliases) end() {
	if a.wanted && a.address != 0 && bytes.Count(a.names, []byte("\n")) > 1 {
		if a.of == nil {
			a.of = map[uint64][]string{}
		}
		a.of[a.address] = strings.Fields(string(a.names))
	}
}

// traceAliases corrects Traceable for functions with several names: the function tracer's list
// has only one of them, such as __ia32_sys_sync for __x64_sys_sync.
func (l *lookup) traceAliases(functions []Function) {
	if l.traced == nil {
		return
	}
	wanted := map[string]bool{}
	var open []*Function
	for i := range functions {
		if f := &functions[i]; !f.Traceable && len(l.table.aliases[f.Address]) > 0 {
			open = append(open, f)
			for _, name := range l.table.aliases[f.Address] {
				wanted[name] = true
			}
		}
	}
	if len(open) == 0 {
		return
	}
	list, err := l.kernel.traceable(func(name []byte) bool { return wanted[string(name)] })
	if err != nil {
		l.logger.Debug("which of several names can be traced is not known", "error", err)
		return
	}
	for _, f := range open {
		f.Traceable = slices.ContainsFunc(l.table.aliases[f.Address], func(name string) bool {
			return list.has(&Function{Name: name, Module: f.Module})
		})
	}
}
