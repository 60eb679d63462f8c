package symbols

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// Bounds of Prepare, beyond which the tables are loaded.
const (
	maxPrepared  = 8 // calls
	maxRounds    = 4 // of reading the tables in one call
	candidatesOf = 256
)

// prepared is what Prepare has found for a place.
type prepared struct {
	symbol Symbol
	ok     bool
}

// Prepare looks up many places at once: the next calls of Lookup for these find what
// it has found. It reads the symbol tables without keeping them, so that it takes
// less time and memory than the first Lookup does otherwise. A File that is asked
// many times comes off better with its tables in memory: it then loads them, once.
//
// The error tells of tables that can't be read; places are looked up in the others.
func (f *File) Prepare(fileOffsets []uint64) error {
	f.preparing.Lock()
	defer f.preparing.Unlock()
	if _, unpacks := f.image.Section(".gnu_debugdata"); unpacks || f.calls == maxPrepared {
		return f.Load()
	}
	f.calls++
	b, err := f.collectFor(fileOffsets)
	if b == nil {
		return f.Load()
	}
	t := b.finish()
	found := make(map[uint64]prepared, len(fileOffsets))
	for _, offset := range fileOffsets {
		s, ok := f.lookUp(t, offset)
		s.Name = strings.Clone(s.Name) // it is a part of all names
		found[offset] = prepared{s, ok}
	}
	f.prepared.Store(&found)
	return err
}

// collectFor collects all symbols that decide what places are called; nil if that is
// too much work.
//
// What a place is called depends on the symbols that cover it; on the last one that
// begins before it, which may have no size, what covers that one, and the next one,
// where it ends; and for each address of those on all names that it has. So the tables
// are read again until all addresses are known.
func (f *File) collectFor(fileOffsets []uint64) (*builder, error) {
	w := &wanted{strings: map[stringTable][]byte{}}
	for _, offset := range fileOffsets {
		if addr, ok := f.image.Vaddr(offset); ok {
			w.points = append(w.points, addr)
		}
	}
	if slices.ContainsFunc(w.points, f.inPLT) {
		w.slots, w.lazy = pltSlots(f.image)
		for _, t := range w.slots { // stubs are called after what chooses their function
			if t.symbol == 0 {
				w.points = append(w.points, t.resolver)
			}
		}
	}
	w.points = sorted(w.points)
	w.near = make([]near, len(w.points))
	for range maxRounds {
		b := &builder{code: codeOf(f.image), want: w}
		err := f.collect(b)
		if len(b.candidates) > candidatesOf*(len(w.points)+16) {
			return nil, nil
		}
		more := w.neighbors()
		for i := range b.candidates {
			more = append(more, b.candidates[i].addr)
		}
		more = sorted(append(more, w.points...))
		if len(more) == len(w.points) {
			return b, err
		}
		w.points, w.near = more, nil
	}
	return nil, nil
}

// inPLT reports whether an address is in a procedure linkage table.
func (f *File) inPLT(addr uint64) bool {
	for _, name := range pltSections {
		if s, ok := f.image.Section(name); ok && addr-s.Addr < s.Size {
			return true
		}
	}
	return false
}

// sorted sorts addresses and leaves each once.
func sorted(addrs []uint64) []uint64 {
	slices.Sort(addrs)
	return slices.Compact(addrs)
}

// wanted are the places that a builder collects symbols for.
type wanted struct {
	points []uint64 // addresses, sorted
	near   []near   // of each point; nil once they are known

	slots   map[uint64]target // if points are in a procedure linkage table, its slots
	lazy    []uint64          // see pltSlots
	strings map[stringTable][]byte
}

// stringTable is a section of strings.
type stringTable struct {
	image   *elfimage.Image
	section uint32
}

// stringsOf reads a section of strings once.
func (w *wanted) stringsOf(m *elfimage.Image, section uint32) ([]byte, error) {
	key := stringTable{m, section}
	if b, ok := w.strings[key]; ok {
		return b, nil
	}
	b, err := m.Bytes(&m.Sections[section])
	if err == nil {
		w.strings[key] = b
	}
	return b, err
}

// within reports whether a point is among size bytes at addr.
func (w *wanted) within(addr, size uint64) bool {
	i := w.point(addr)
	return i < len(w.points) && w.points[i]-addr < size
}

// near are the symbols closest to a point, on this side of other points: those that
// count in any case, and labels without a size, which don't within a function.
type near struct {
	before, after [2]closest
}

// closest is the address of a symbol, if there is one.
type closest struct {
	addr  uint64
	known bool
}

// kinds of symbols in near.
const (
	label = iota
	strong
)

func kindOf(isStrong bool) int {
	if isStrong {
		return strong
	}
	return label
}

// asksFor reports whether a symbol at addr may matter: it covers a point, or is
// closer to one than those so far.
func (w *wanted) asksFor(addr, size uint64, isStrong bool) bool {
	i := w.point(addr)
	if i < len(w.points) && w.points[i]-addr < max(size, 1) {
		return true
	}
	if w.near == nil {
		return false
	}
	kind := kindOf(isStrong)
	if i < len(w.points) {
		if c := w.near[i].before[kind]; !c.known || addr > c.addr {
			return true
		}
	}
	if i > 0 {
		if c := w.near[i-1].after[kind]; !c.known || addr < c.addr {
			return true
		}
	}
	return false
}

// takes reports whether a symbol that has a name and lies in code is to be kept.
func (w *wanted) takes(addr, size uint64, isStrong bool) bool {
	i := w.point(addr)
	if w.near != nil {
		kind := kindOf(isStrong)
		if i < len(w.points) {
			if c := &w.near[i].before[kind]; !c.known || addr > c.addr {
				*c = closest{addr, true}
			}
		}
		if i > 0 {
			if c := &w.near[i-1].after[kind]; !c.known || addr < c.addr {
				*c = closest{addr, true}
			}
		}
	}
	return i < len(w.points) && w.points[i]-addr < max(size, 1)
}

// point is the index of the first point that is not before addr.
func (w *wanted) point(addr uint64) int {
	return sort.Search(len(w.points), func(i int) bool { return w.points[i] >= addr })
}

// neighbors returns the symbols closest to the points, on both sides.
func (w *wanted) neighbors() (addrs []uint64) {
	for kind := range 2 {
		var c closest
		for i := range w.near {
			if before := w.near[i].before[kind]; before.known {
				c = before
			}
			if c.known {
				addrs = append(addrs, c.addr)
			}
		}
		c = closest{}
		for i := range slices.Backward(w.near) {
			if after := w.near[i].after[kind]; after.known {
				c = after
			}
			if c.known {
				addrs = append(addrs, c.addr)
			}
		}
	}
	return addrs
}

// sizeWithin is the size of a symbol as far as it lies in code that ends at end.
func sizeWithin(addr, size, end uint64) uint64 { return min(size, end-addr, math.MaxUint32) }
