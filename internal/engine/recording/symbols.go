package recording

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// recordedSymbols are the symbols that a recording has, by path and sorted by address. They name code
// whose file is missing here.
type recordedSymbols map[string]*perfdata.SymbolTable

// newSymbols leaves out paths that have several tables: they are of several files, and nothing says which
// one a process had mapped.
func newSymbols(tables []perfdata.SymbolTable) recordedSymbols {
	all := make(recordedSymbols)
	for i := range tables {
		t := &tables[i]
		if _, twice := all[t.Path]; twice {
			all[t.Path] = nil
			continue
		}
		slices.SortFunc(t.Symbols, func(x, y perfdata.Symbol) int { return cmp.Compare(x.Address, y.Address) })
		all[t.Path] = t
	}
	return all
}

// find implements process.Recording.
func (r recordedSymbols) find(path string, offset uint64) (name string, start, size uint64, ok bool) {
	t := r[path]
	if t == nil {
		return "", 0, 0, false
	}
	i, exact := slices.BinarySearchFunc(t.Symbols, offset, func(s perfdata.Symbol, at uint64) int { return cmp.Compare(s.Address, at) })
	if !exact {
		i--
	}
	if i < 0 || offset-t.Symbols[i].Address >= uint64(t.Symbols[i].Size) {
		return "", 0, 0, false
	}
	s := &t.Symbols[i]
	return s.Name, s.Address, uint64(s.Size), true
}

// function implements process.Recording.
func (r recordedSymbols) function(path string) (f process.RecordedFunction, ok bool) {
	t := r[path]
	if t == nil || t.Kind != perfdata.RuntimeSymbols || len(t.Symbols) != 1 {
		return f, false
	}
	return process.RecordedFunction{Runtime: t.Runtime, File: t.Source, Name: t.Symbols[0].Name}, true
}

// mapped adds what a mapping says of a function that has no table.
func (r recordedSymbols) mapped(m *perfevent.Mmap) {
	const end = 1 << 63 // the kernel's addresses
	if m.Addr < perfdata.FunctionsBegin || m.Addr >= end {
		return
	}
	if path := string(m.Filename); r[path] == nil {
		t := perfdata.FunctionOf(path)
		r[path] = &t
	}
}

// kallsyms returns the symbols of the kernel and its modules in the format of /proc/kallsyms.
func (r recordedSymbols) kallsyms() io.Reader {
	type line struct {
		address uint64
		text    string
	}
	var lines []line
	for path, t := range r {
		module := ""
		switch {
		case t == nil:
			continue
		case t.Kind == perfdata.ModuleSymbols:
			module = "\t" + path
		case t.Kind != perfdata.KernelSymbols:
			continue
		}
		for _, s := range t.Symbols {
			if !strings.ContainsAny(s.Name, " \t\n") {
				lines = append(lines, line{s.Address, fmt.Sprintf("%016x t %s%s\n", s.Address, s.Name, module)})
			}
		}
	}
	slices.SortFunc(lines, func(x, y line) int { return cmp.Compare(x.address, y.address) })
	var text bytes.Buffer
	for _, l := range lines {
		text.WriteString(l.text)
	}
	return &text
}
