package symbols

import (
	"math"
	"strings"
)

// Limits on names of code.
const (
	maxSymbols    = 4 << 20   // functions of one file, the kernel or a perf map
	maxNames      = 256 << 20 // total bytes of their names
	maxSymbolName = 16 << 10  // bytes of one name; longer ones are cut
	maxNested     = 32        // symbols that may start between an address and the symbol that covers it
)

// Symbol is a named range of code.
type Symbol struct {
	// Name is the raw name without an ELF symbol version. A C++ or Rust name is still mangled;
	// see Demangle.
	Name string
	// Module is the symbol's kernel module without brackets. It is "" for the kernel proper,
	// and for symbols that are not from Kallsyms.
	Module string
	// Start is a file offset if the symbol comes from a File, and an address if it comes from
	// Kallsyms or a PerfMap.
	Start uint64
	// Size is the length in bytes. If the table has no size, the symbol extends to the next
	// symbol or to the end of its section.
	Size uint64
	// Guessed is true if the table has no size. Then the range may include unnamed code after
	// the function's real end. See File.Reaches.
	Guessed bool
}

// table is a finished set of symbols, sorted by address, one for each address. An entry takes
// sixteen bytes plus the name. It never changes, so lookups need no lock and no memory.
type table struct {
	entries []entry
	names   string // of all entries in their order
}

type entry struct {
	addr uint64
	size uint32
	name uint32 // start of the name in names, and the guessed bit; it ends at the next entry's name
}

// guessed marks entries whose size is a guess. Offsets in names never need this bit.
const guessed = 1 << 31

func (t *table) name(i int) string {
	begin := t.entries[i].name &^ guessed
	if i+1 < len(t.entries) {
		return t.names[begin : t.entries[i+1].name&^guessed]
	}
	return t.names[begin:]
}

// lookup returns the index of the innermost entry that covers addr.
func (t *table) lookup(addr uint64) (int, bool) {
	lo, hi := 0, len(t.entries)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.entries[mid].addr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	// Functions may be nested: hand-written assembly has entry points inside functions. After
	// the inner one's end, the outer one continues.
	for i := lo - 1; i >= 0 && i >= lo-maxNested; i-- {
		if addr-t.entries[i].addr < uint64(t.entries[i].size) {
			return i, true
		}
	}
	return 0, false
}

// finish turns the collected symbols into a table: it chooses the best name for each address
// and an end for each symbol.
func (b *builder) finish() *table {
	b.sort()
	kept := b.candidates[:0]
	covered := uint64(0) // end of the furthest sized function so far
	for i := range b.candidates {
		c := b.candidates[i]
		if len(kept) > 0 && kept[len(kept)-1].addr == c.addr {
			continue // an alias, and not the best one
		}
		if c.size == 0 && c.rank&rankFunction == 0 && c.addr < covered {
			continue // a label inside a function
		}
		if c.size > 0 {
			covered = max(covered, c.addr+uint64(c.size))
		}
		kept = append(kept, c)
	}
	t := &table{entries: make([]entry, len(kept))}
	var names strings.Builder
	total := 0
	for i := range kept {
		total += int(kept[i].length)
	}
	names.Grow(total)
	covered = 0
	for i := range kept {
		c := &kept[i]
		end := c.addr + uint64(c.size)
		limit, _ := endOf(b.code, c.addr)
		if c.size == 0 {
			if end = limit; c.addr < covered {
				end = min(end, covered)
			}
			if i+1 < len(kept) {
				end = min(end, kept[i+1].addr)
			}
		} else {
			end = min(end, limit)
			covered = max(covered, end)
		}
		t.entries[i] = entry{addr: c.addr, size: uint32(min(end-c.addr, math.MaxUint32)), name: uint32(names.Len())}
		if c.size == 0 {
			t.entries[i].name |= guessed
		}
		names.Write(b.nameOf(c))
	}
	t.names = names.String()
	return t
}
