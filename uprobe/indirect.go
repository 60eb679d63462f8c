package uprobe

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/symbols"
)

// maxResolver is the maximum number of bytes read of a resolver's code. glibc's longest has
// 800.
const maxResolver = 64 << 10

// implementations replaces each indirect function by the code that its callers call. Its
// resolver chooses that code when a program starts; we find the choice in a process that maps
// the file. If there is none, all functions that the resolver may return are probed, of which a
// machine uses one.
func (r *resolver) implementations(found []symbols.Function) ([]symbols.Function, error) {
	if !slices.ContainsFunc(found, func(f symbols.Function) bool { return f.Kind == symbols.Indirect }) {
		return found, nil
	}
	chosen := r.chosen()
	var out []symbols.Function
	var replaced, left []string // left have no code in this file
	for _, fn := range found {
		if fn.Kind != symbols.Indirect {
			out = append(out, fn)
			continue
		}
		resolver, _ := r.image.Vaddr(fn.Offset)
		addrs := chosen[resolver]
		running := len(addrs) > 0
		if !running {
			addrs = r.candidates(&fn)
		}
		code := r.functionsAt(fn.Name, addrs)
		if len(code) == 0 {
			left = append(left, fn.Name)
			continue
		}
		if !r.definition.Pattern {
			r.explainIndirect(&fn, code, running, chosen)
		}
		replaced = append(replaced, fn.Name)
		out = append(out, code...)
	}
	if r.definition.Pattern && len(replaced) > 0 {
		r.note("indirect functions (IFUNC): the code that their callers call is probed, under their names: %s", several(replaced))
	}
	if len(left) > 0 {
		why := fmt.Sprintf("%s: an indirect function (IFUNC) that may be code outside of %s, such as the kernel's vDSO", several(left), r.Path)
		if len(out) == 0 {
			return nil, &TargetError{Path: r.Path, Err: fmt.Errorf("cannot probe %s", why)}
		}
		r.note("not probed: %s", why)
	}
	return r.merged(out), nil
}

// explainIndirect adds a note about where an indirect function is probed.
func (r *resolver) explainIndirect(fn *symbols.Function, code []symbols.Function, running bool, chosen map[uint64][]uint64) {
	var at []string
	for _, f := range code {
		at = append(at, r.called(f.Offset))
	}
	if !running {
		more := ""
		if r.calls(fn) {
			more = "; calls of code in other files, such as the kernel's vDSO, are not seen"
		}
		if len(code) > 1 {
			r.note("%s is an indirect function (IFUNC), and no running process tells which implementation it uses: all %d are probed, %s%s", fn.Name, len(code), several(at), more)
			return
		}
		r.note("%s is an indirect function (IFUNC): its implementation %s is probed%s", fn.Name, at[0], more)
		return
	}
	text := fmt.Sprintf("%s is an indirect function (IFUNC): the implementation that programs use here is probed, %s", fn.Name, several(at))
	var others []string
	resolver, _ := r.image.Vaddr(fn.Offset)
	for other, addrs := range chosen {
		if offset, ok := r.image.Offset(other); ok && other != resolver && slices.Equal(addrs, chosen[resolver]) {
			if named, ok := r.symbols.Lookup(offset); ok && named.Start == offset {
				others = append(others, strings.TrimSuffix(symbols.Demangle(named.Name), "_ifunc"))
			}
		}
	}
	if slices.Sort(others); len(others) > 0 {
		text += fmt.Sprintf("; %s is the same code, so calls of both count", several(others))
	}
	r.note("%s", text)
}

// called returns the name of the code at a file offset.
func (r *resolver) called(offset uint64) string {
	if s, ok := r.symbols.Lookup(offset); ok && s.Start == offset {
		return symbols.Demangle(s.Name)
	}
	return fmt.Sprintf("at file offset %#x", offset)
}

// merged combines functions with the same code into one, named memcpy/memmove.
func (r *resolver) merged(all []symbols.Function) []symbols.Function {
	slices.SortStableFunc(all, func(a, b symbols.Function) int {
		return int(int64(a.Offset) - int64(b.Offset))
	})
	var out []symbols.Function
	for _, f := range all {
		if n := len(out); n > 0 && out[n-1].Offset == f.Offset {
			if !slices.Contains(strings.Split(out[n-1].Name, "/"), f.Name) {
				out[n-1].Name += "/" + f.Name
			}
			continue
		}
		out = append(out, f)
	}
	return out
}

// functionsAt turns addresses into functions. It drops addresses where no known function of the
// file starts.
func (r *resolver) functionsAt(name string, addrs []uint64) []symbols.Function {
	var out []symbols.Function
	for _, addr := range addrs {
		offset, ok := r.image.Offset(addr)
		if !ok || !r.image.Executable(addr) {
			continue
		}
		size := uint64(0)
		if s, ok := r.symbols.Lookup(offset); ok && s.Start == offset {
			size = s.Size
		} else if start, n, ok := r.symbols.Bounds(offset); ok && start == offset {
			size = n
		}
		if size > 0 {
			out = append(out, symbols.Function{Name: name, Offset: offset, Size: size})
		}
	}
	return out
}

// candidates returns the addresses in a resolver's code, without duplicates.
func (r *resolver) candidates(fn *symbols.Function) []uint64 {
	code, err := r.code(fn.Offset, min(fn.Size, maxResolver))
	if err != nil {
		return nil
	}
	addrs, slots := code.Addresses()
	if len(slots) > 0 {
		addrs = append(addrs, r.slotContents(slots)...)
	}
	addrs = slices.DeleteFunc(addrs, func(addr uint64) bool {
		return addr >= code.Addr && addr-code.Addr < uint64(len(code.Code))
	})
	slices.Sort(addrs)
	return slices.Compact(addrs)
}

// calls reports whether a resolver calls other code, whose choice is unknown.
func (r *resolver) calls(fn *symbols.Function) bool {
	code, err := r.code(fn.Offset, min(fn.Size, maxResolver))
	return err == nil && code.Calls()
}

// slotContents returns the addresses within the file that the loader writes to slots of its
// global offset table.
func (r *resolver) slotContents(slots []uint64) (addrs []uint64) {
	symtab, err := r.dynamicSymbols()
	if err != nil {
		symtab = nil
	}
	r.relocations(func(x elfimage.Relocation) {
		if !slices.Contains(slots, x.Where) {
			return
		}
		if uint64(x.Symbol) < uint64(len(symtab)) && x.Symbol != 0 {
			addrs = append(addrs, symtab[x.Symbol])
		} else if x.Symbol == 0 {
			addrs = append(addrs, x.Addend)
		}
	})
	return addrs
}

// dynamicSymbols returns the values of the dynamic symbols, by index.
func (r *resolver) dynamicSymbols() ([]uint64, error) {
	section, ok := r.image.SectionOf(elf.SHT_DYNSYM)
	if !ok || !r.image.Is64 {
		return nil, nil
	}
	b, err := r.image.Bytes(section)
	var values []uint64
	for ; len(b) >= elf.Sym64Size; b = b[elf.Sym64Size:] {
		values = append(values, r.image.Order.Uint64(b[8:]))
	}
	return values, err
}

// relocations calls visit with each relocation that the loader applies.
func (r *resolver) relocations(visit func(elfimage.Relocation)) {
	for i := range r.image.Sections {
		s := &r.image.Sections[i]
		if s.Type == elf.SHT_RELA && s.Flags&elf.SHF_ALLOC != 0 {
			r.image.Relocations(s.Offset, s.Size, true, func(x elfimage.Relocation) bool {
				visit(x)
				return true
			})
		}
	}
}
