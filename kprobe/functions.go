package kprobe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/text/match"
)

// Function is a function of the running kernel.
type Function struct {
	Name      string // as in /proc/kallsyms
	Module    string // "" for the kernel proper
	Address   uint64 // 0 if the kernel hides it (kptr_restrict)
	Traceable bool   // whether available_filter_functions has this or another name of the function
}

// String returns the function's name for the kernel: NAME, or MODULE:NAME.
func (f *Function) String() string {
	if f.Module == "" {
		return f.Name
	}
	return f.Module + ":" + f.Name
}

// Functions returns the kernel's functions that match a pattern (*, ?, [a-z]), sorted by name,
// module and address. MODULE:PATTERN matches functions of one module. A pattern does not match
// the pieces that compilers split off functions (.cold). If the function tracer's list cannot
// be read, no function is Traceable. The error is a *SymbolError if there are none, and wraps
// fs.ErrNotExist if the kernel has no /proc/kallsyms.
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
	l := &lookup{kernel: kernel{o.Root}, module: moduleName(module), symbol: name, pattern: match.IsGlob(name), logger: o.logger()}
	if err := l.read(); err != nil {
		return nil, err
	}
	functions := l.functions()
	if len(functions) == 0 {
		return nil, l.missing()
	}
	return functions, nil
}

// functions returns the functions that the definition means, among the symbols found.
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

// baseName returns the source name of a function that the compiler renamed: f for f.isra.0,
// f.constprop.0.cold, f.llvm.123.
func baseName(name string) string {
	if dot := strings.IndexByte(name, '.'); dot > 0 {
		return name[:dot]
	}
	return name
}

// isCold reports whether a symbol is the rarely executed part of a function, which is jumped to
// and not called.
func isCold(name string) bool {
	return strings.HasSuffix(name, ".cold") || strings.Contains(name, ".cold.")
}

// moduleName returns a module's name as the kernel spells it: modprobe(8) treats dashes and
// underscores as equal.
func moduleName(name string) string { return strings.ReplaceAll(name, "-", "_") }
