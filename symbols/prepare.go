package symbols

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Limits of Prepare. Beyond them, the tables are loaded.
const (
	maxPrepared  = 8 // calls
	maxRounds    = 4 // reads of the tables in one call
	candidatesOf = 256
)

// prepared is the symbol that Prepare found for a place.
type prepared struct {
	symbol Symbol
	ok     bool
}

// Prepare looks up many places together; later calls of Lookup for them return the results. It
// reads the symbol tables without keeping them, which takes less time and memory than the first
// Lookup. After 8 calls it loads the tables and keeps them, since that is cheaper for a File
// that is used so often.
//
// The error joins the errors of tables that cannot be read. The other tables are used.
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
		s.Name = strings.Clone(s.Name) // so that the names of all symbols can be freed
		found[offset] = prepared{s, ok}
	}
	f.prepared.Store(&found)
	return err
}

// collectFor collects all symbols that decide the names of places. It returns nil if that is
// too much work.
//
// The name of a place depends on these symbols, with all the names at each one's address:
//
//   - the symbols that cover the place;
//   - the last symbol before it, which may have no size, and the symbols that cover that one;
//   - the next symbol after it, at which a symbol without a size ends.
//
// So the tables are read repeatedly until all these addresses are known.
func (f *File) collectFor(fileOffsets []uint64) (*builder, error) {
	w := &wanted{strings: map[stringTable][]byte{}}
	for _, offset := range fileOffsets {
		if addr, ok := f.image.Vaddr(offset); ok {
			w.points = append(w.points, addr)
		}
	}
	if slices.ContainsFunc(w.points, f.inPLT) {
		w.slots, w.lazy = pltSlots(f.image)
		for _, t := range w.slots { // stubs have the name of the function that chooses
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

// sorted sorts addresses and removes duplicates.
func sorted(addrs []uint64) []uint64 {
	slices.Sort(addrs)
	return slices.Compact(addrs)
}

// wanted are the places for which a builder collects symbols.
type wanted struct {
	points []uint64 // addresses, sorted
	near   []near   // for each point; nil once they are known

	slots   map[uint64]target // if points are in a procedure linkage table: its slots
	lazy    []uint64          // see pltSlots
	strings map[stringTable][]byte
}

// stringTable is a section of strings.
type stringTable struct {
	image   *elfimage.Image
	section uint32
}

// stringsOf reads a string section once.
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

// within reports whether a point is in the size bytes at addr.
func (w *wanted) within(addr, size uint64) bool {
	i := w.point(addr)
	return i < len(w.points) && w.points[i]-addr < size
}

// near has the symbols closest to a point that are not beyond the next point. Labels without a
// size are kept apart, because they do not count inside a function.
type near struct {
	before, after [2]closest
}

// closest is the address of a symbol, if known.
type closest struct {
	addr  uint64
	known bool
}

// Indexes of near's arrays.
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

// asksFor reports whether a symbol at addr may matter: it covers a point, or is closer to one
// than any symbol so far.
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

// takes reports whether to keep a symbol that has a name and is in code. It also enters the symbol
// in w.near if it is the closest one so far before or after a wanted address.
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

// point returns the index of the first point at or after addr.
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

// sizeWithin cuts a symbol's size at the end of its code range.
func sizeWithin(addr, size, end uint64) uint64 { return min(size, end-addr, math.MaxUint32) }
