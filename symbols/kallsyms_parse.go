package symbols

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// kernelSymbol is a line of kallsyms. If its rank is 0, it only ends the function before it.
type kernelSymbol struct {
	addr   uint64
	name   uint32 // offset in the parser's names
	length uint16
	module uint16
	rank   uint8
}

type kallsymsParser struct {
	symbols []kernelSymbol
	names   []byte
	modules []string
	byName  map[string]uint16
	hidden  bool
}

func (p *kallsymsParser) parse(r io.Reader) (*Kallsyms, error) {
	if err := p.read(r); err != nil {
		return nil, err
	}
	if p.hidden {
		return nil, ErrAddressesHidden
	}
	return p.finish(), nil
}

func (p *kallsymsParser) read(r io.Reader) error {
	p.start()
	return p.each(r, p.add)
}

func (p *kallsymsParser) start() {
	p.modules = []string{""}
	p.byName = map[string]uint16{}
	p.hidden = true
}

// each calls add for every line of r.
func (p *kallsymsParser) each(r io.Reader, add func(*KernelSymbol) error) error {
	if err := EachKernelSymbol(r, add); err != nil {
		return fmt.Errorf("read kallsyms: %w", err)
	}
	if len(p.symbols) == 0 {
		return errors.New("read kallsyms: no symbols")
	}
	return nil
}

// mark ends the function before addr.
func (p *kallsymsParser) mark(addr uint64) {
	p.symbols = append(p.symbols, kernelSymbol{addr: addr})
}

func (p *kallsymsParser) add(line *KernelSymbol) error {
	s := kernelSymbol{addr: line.Address}
	name := line.Name
	if len(line.Module) > 0 {
		var err error
		if s.module, err = p.moduleOf(line.Module); err != nil {
			return err
		}
	}
	if line.Address != 0 {
		p.hidden = false
	}
	if len(p.symbols) >= maxSymbols || len(p.names)+len(name) > maxNames {
		return errTooMany
	}
	switch line.Type {
	case 'T':
		s.rank = rankFunction | rankExported | rankStrong
	case 'W', 'w':
		s.rank = rankFunction | rankExported
	case 't':
		s.rank = rankFunction
	}
	if name[0] == '_' && s.rank != 0 && s.module == 0 {
		s.rank = markRank(name, s.rank)
	}
	if s.rank != 0 {
		name = name[:min(len(name), maxSymbolName)]
		s.name, s.length = uint32(len(p.names)), uint16(len(name))
		p.names = append(p.names, name...)
	}
	p.symbols = append(p.symbols, s)
	return nil
}

// markRank lowers the rank of the linker script's labels (include/asm-generic/vmlinux.lds.h),
// which also have type T. Labels such as _etext name no code at all; the others name code only
// if it has no other name.
func markRank(name []byte, rank uint8) uint8 {
	switch string(name) {
	case "_etext", "_einittext":
		return 0
	case "_text", "_stext", "_sinittext":
		return rankCurrent
	}
	if bytes.HasSuffix(name, []byte("_text_start")) || bytes.HasSuffix(name, []byte("_text_end")) {
		return rankCurrent
	}
	return rank
}

// moduleOf returns the index of a module's name.
func (p *kallsymsParser) moduleOf(name []byte) (uint16, error) {
	if i, ok := p.byName[string(name)]; ok {
		return i, nil
	}
	if len(p.modules) >= maxModules {
		return 0, errTooMany
	}
	i := uint16(len(p.modules))
	p.modules = append(p.modules, string(name))
	p.byName[p.modules[i]] = i
	return i, nil
}

func (p *kallsymsParser) nameOf(s *kernelSymbol) []byte {
	return p.names[s.name:][:s.length]
}

func (p *kallsymsParser) finish() *Kallsyms {
	byAddr := func(x, y kernelSymbol) int { return cmp.Compare(x.addr, y.addr) }
	if !slices.IsSortedFunc(p.symbols, byAddr) { // without modules it is already sorted
		slices.SortFunc(p.symbols, byAddr)
	}
	p.keepBest()
	functions, total := 0, 0
	for i := range p.symbols {
		if s := &p.symbols[i]; s.rank != 0 {
			functions++
			total += int(s.length)
		}
	}
	k := &Kallsyms{module: make([]uint16, 0, functions), modules: p.modules}
	k.table.entries = make([]entry, 0, functions)
	var names strings.Builder
	names.Grow(total)
	for i := range p.symbols {
		s := &p.symbols[i]
		if s.rank == 0 {
			continue
		}
		e := entry{addr: s.addr, size: p.sizeOf(i), name: uint32(names.Len())}
		names.Write(p.nameOf(s))
		k.table.entries = append(k.table.entries, e)
		k.module = append(k.module, s.module)
	}
	k.table.names = names.String()
	return k
}

// keepBest keeps the best symbol of each address.
func (p *kallsymsParser) keepBest() {
	kept := p.symbols[:0]
	for _, s := range p.symbols {
		last := len(kept) - 1
		if last < 0 || kept[last].addr != s.addr {
			kept = append(kept, s)
		} else if best := &kept[last]; preferName(p.nameOf(&s), p.nameOf(best), s.rank, best.rank) < 0 {
			*best = s
		}
	}
	p.symbols = kept
}

// sizeOf returns the size of symbol i, which kallsyms does not have. The symbol ends at the
// next one if that is near and in the same module. Otherwise it extends at most to the end of
// the page after the one it starts in.
func (p *kallsymsParser) sizeOf(i int) uint32 {
	s := &p.symbols[i]
	last := kernelPage - s.addr%kernelPage + kernelPage
	if i+1 == len(p.symbols) {
		return uint32(last)
	}
	next := &p.symbols[i+1]
	size := next.addr - s.addr
	if next.module != s.module || size > maxKernelFunction {
		size = min(size, last)
	}
	return uint32(size)
}
