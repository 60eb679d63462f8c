package kprobe

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/symbols"
)

type lookup struct {
	kernel
	module  string // "" for all
	symbol  string
	pattern bool
	address uint64 // if not 0, searched for instead of a symbol
	all     bool   // collect the addresses of all functions
	others  map[string]bool
	logger  *slog.Logger

	table  *symtab
	traced traced // nil if the kernel does not show the list
}

// read reads kallsyms and the function tracer's list in parallel: the kernel needs most of the
// time to format the text. For an address, the function's name is not known yet, so the
// tracer's list is read later.
func (l *lookup) read() error {
	var err error
	if l.address != 0 {
		l.table, err = l.kernel.symbols(l.all, l.keepNearest())
		return err
	}
	keep := l.keepOne()
	if l.pattern {
		glob, err := match.ParseGlob(l.symbol)
		if err != nil {
			return fmt.Errorf("pattern %q: %w", l.symbol, err)
		}
		keep = glob.MatchBytes
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		var err error
		if l.traced, err = l.kernel.traceable(keep); err != nil {
			l.logger.Debug("the list of functions that can be traced can't be read", "error", err)
		}
	})
	l.table, err = l.kernel.symbols(l.all, func(s *symbols.KernelSymbol) bool {
		return keep(s.Name) && (l.module == "" || string(s.Module) == l.module)
	})
	wait.Wait()
	return err
}

// keepOne accepts the symbol, the compiler's clones of it, and its possible names in this
// kernel.
func (l *lookup) keepOne() func(name []byte) bool {
	l.others = map[string]bool{}
	for _, name := range renamed(l.symbol) {
		l.others[name] = true
	}
	l.others[baseName(l.symbol)] = true
	var begins [256]bool // avoids most map lookups
	for name := range l.others {
		begins[name[0]] = true
	}
	symbol := l.symbol
	return func(name []byte) bool {
		if len(name) >= len(symbol) && string(name[:len(symbol)]) == symbol && (len(name) == len(symbol) || name[len(symbol)] == '.') {
			return true
		}
		return begins[name[0]] && l.others[string(name)]
	}
}

// keepNearest accepts code symbols at the address or closest below it. The last ones accepted
// are the closest.
func (l *lookup) keepNearest() func(*symbols.KernelSymbol) bool {
	best := uint64(0)
	return func(s *symbols.KernelSymbol) bool {
		if !isFunction(s.Type) || s.Address > l.address || s.Address < best || s.Address == 0 {
			return false
		}
		best = s.Address
		return true
	}
}

func (l *lookup) missing() error {
	e := &SymbolError{Name: l.symbol, Module: l.module, Pattern: l.pattern}
	if l.module != "" && !l.table.modules[l.module] {
		if e.Why = l.kernel.unloaded(l.module); !l.pattern {
			e.Today = l.elsewhere()
		}
		return e
	}
	for i := range l.table.found {
		s := &l.table.found[i]
		switch {
		case s.Name == l.symbol && !isFunction(s.kind):
			e.Why = notFunction(s)
		case s.Name == l.symbol && isHelper(&s.Function):
			e.Why = "it is no function of the kernel's source"
			if s.Module == "bpf" {
				e.Why = "it is a BPF program, which kernel probes can't be placed in"
			}
		case isFunction(s.kind) && !isCold(s.Name) && !slices.Contains(e.Today, s.Name):
			e.Today = append(e.Today, s.Name)
		}
	}
	if e.Why == "" && len(e.Today) > 0 {
		e.Why = whyRenamed(l.symbol, e.Today)
	}
	if e.Why == "" && !l.pattern {
		e.Near = l.near()
	}
	return e
}

// elsewhere returns functions with the symbol's name outside of its module.
func (l *lookup) elsewhere() []string {
	table, err := l.kernel.symbols(false, func(s *symbols.KernelSymbol) bool { return isFunction(s.Type) && string(s.Name) == l.symbol })
	if err != nil {
		l.logger.Debug("look for it outside of the module", "error", err)
		return nil
	}
	var names []string
	for i := range table.found {
		names = append(names, table.found[i].String())
	}
	return slices.Compact(names)
}

// notFunction says what kind of symbol it is if it is not code.
func notFunction(s *symbol) string {
	switch s.kind | 0x20 {
	case 'd', 'b', 'r', 'v', 'g', 's':
		return "it is a variable: fetch it in another probe as @" + s.Name
	}
	return "it is a constant of the kernel's build"
}

func (l *lookup) near() []string {
	near := newNearest(l.symbol)
	_, err := l.kernel.symbols(false, func(s *symbols.KernelSymbol) bool {
		if isFunction(s.Type) && (l.module == "" || string(s.Module) == l.module) {
			near.add(string(s.Name))
		}
		return false
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.logger.Debug("look for names that resemble it", "error", err)
	}
	return near.found.Names()
}

// unloaded returns the reason why a module has no functions.
func (k kernel) unloaded(module string) string {
	if k.isBuiltin(module) {
		return "module " + module + " is built into this kernel: name the function alone"
	}
	if strings.HasPrefix(module, "__builtin__") || module == "bpf" {
		return "it is no module"
	}
	return "module " + module + " is not loaded: modprobe " + module + " first"
}
