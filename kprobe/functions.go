package kprobe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/names"
)

// Function is a function of the running kernel.
type Function struct {
	Name      string // as /proc/kallsyms has it
	Module    string // that it is in, "" for the kernel proper
	Address   uint64 // 0 where the kernel does not tell (kptr_restrict)
	Traceable bool   // the function tracer knows it: it, or another name of it, is in available_filter_functions
}

// String is the function as the kernel takes it: NAME, or MODULE:NAME.
func (f *Function) String() string {
	if f.Module == "" {
		return f.Name
	}
	return f.Module + ":" + f.Name
}

// Functions lists the kernel's functions that match a pattern (*, ?, [a-z]), sorted
// by name, then module, then address; MODULE:PATTERN those of one module. A
// name stands for itself. What compilers split off functions (.cold) is left
// out where a pattern asks. Where the function tracer's list can't be read none is
// Traceable. The error is a *SymbolError if there are none, and wraps
// fs.ErrNotExist where the kernel has no /proc/kallsyms.
func Functions(pattern string, o Options) ([]Function, error) {
	module, name := "", pattern
	if before, after, ok := strings.Cut(pattern, ":"); ok {
		module, name = before, after
	}
	p := parser{text: pattern}
	if err := p.checkGlob(name, len(pattern)-len(name), ""); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, p.fail(len(pattern), "the name of a function, or a pattern such as vfs_*, is missing")
	}
	l := &lookup{kernel: kernel{o.Root}, module: moduleName(module), symbol: name, pattern: names.IsGlob(name), logger: o.logger()}
	if err := l.read(); err != nil {
		return nil, err
	}
	functions := l.functions()
	if len(functions) == 0 {
		return nil, l.missing()
	}
	return functions, nil
}

// functions are those of the symbols that were found which a definition means.
func (l *lookup) functions() []Function {
	var out []Function
	for i := range l.table.found {
		s := &l.table.found[i]
		switch {
		case !isFunction(s.kind) || !l.pattern && s.Name != l.symbol || isHelper(&s.Function):
		case l.module != "" && s.Module != l.module:
		case l.pattern && isCold(s.Name) && !strings.Contains(l.symbol, "."):
		default:
			f := s.Function
			f.Traceable = l.traced.has(&f)
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b Function) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Module, b.Module), cmp.Compare(a.Address, b.Address))
	})
	out = slices.CompactFunc(out, func(a, b Function) bool { return a == b && a.Address != 0 })
	l.tellApart(out)
	l.traceAliases(out)
	return out
}

// baseName is the name in the source of what a compiler made of a function:
// f of f.isra.0, f.constprop.0.cold, f.llvm.123.
func baseName(name string) string {
	if dot := strings.IndexByte(name, '.'); dot > 0 {
		return name[:dot]
	}
	return name
}

// isCold tells whether a symbol is the part of a function that is rarely
// reached, and is jumped to and not called.
func isCold(name string) bool {
	return strings.HasSuffix(name, ".cold") || strings.Contains(name, ".cold.")
}

// moduleName is a module's name as the kernel has it: modprobe(8) takes dashes
// and underscores for the same.
func moduleName(name string) string { return strings.ReplaceAll(name, "-", "_") }
