package symbols

import (
	"math"
	"strings"
)

// Limits on names of code.
const (
	maxSymbols    = 4 << 20   // functions of one file, the kernel or a perf map
	maxNames      = 256 << 20 // bytes of all their names
	maxSymbolName = 16 << 10  // bytes of one name; longer ones are cut
	maxNested     = 32        // symbols that may begin between an address and the one that covers it
)

// Symbol is a named range of code.
type Symbol struct {
	// Name is the name as the table has it, without an ELF symbol version:
	// a C++ or Rust name is still mangled, see Demangle.
	Name string
	// Module is the kernel module that the symbol belongs to, without
	// brackets; "" for the kernel proper and outside of Kallsyms.
	Module string
	// Start is a file offset when the symbol comes from a File and an address
	// when it comes from Kallsyms or a PerfMap.
	Start uint64
	// Size is the length in bytes. A symbol whose table gives no size reaches
	// to the next symbol or to the end of its section.
	Size uint64
	// Guessed says that the table gives no size: what is behind the function's end, and
	// has no name of its own, seems to be of it. See File.Reaches.
	Guessed bool
}

// table is a finished set of symbols: sixteen bytes and the name for each,
// sorted by address, one for an address. It never changes, so that lookups need
// neither a lock nor memory.
type table struct {
	entries []entry
	names   string // of all entries in their order
}

type entry struct {
	addr uint64
	size uint32
	name uint32 // where the name begins in names; it ends where the next one begins; with guessed
}

// guessed marks entries whose size is not the symbol's own. Names take less than that.
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
	// A function may hold another one (hand-written assembly has entry points
	// inside of functions); past the inner one's end the outer one goes on.
	for i := lo - 1; i >= 0 && i >= lo-maxNested; i-- {
		if addr-t.entries[i].addr < uint64(t.entries[i].size) {
			return i, true
		}
	}
	return 0, false
}

// finish turns what was collected into a table: the best name for each address,
// and an end for every symbol.
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
			continue // a label inside of a function
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
