package dwarfline

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// Limits of Places.
const (
	maxStatements = 1 << 20 // rows of the wanted line
	maxMatched    = 64      // paths in Statements.Files
)

// Place is the first instruction of a source line.
type Place struct {
	Addr     uint64 // virtual
	Function string // as in Line: the inlined function, if Addr is in a copy of one
	File     string // as in Line
	Line     int
}

// Statements is the result of Places.
type Statements struct {
	Places []Place  // sorted by Addr
	Files  []string // paths of the matching source files, at most 64
	Next   int      // the first line after the wanted one that has code, or 0
}

// Places returns the instructions at which a source line starts and where the compiler
// recommends a breakpoint (is_stmt, DWARF 5 section 6.2.2). For each function, and each inlined
// copy of one, it returns the first one from the entry point on. file is the path of the source
// file or the end of one, in whole path elements; all matching files are searched.
//
// The first call for a file decodes the line tables of all units that have it. Lines in damaged
// units are missing.
func (x *Index) Places(file string, line int) (Statements, error) {
	var s Statements
	if err := x.load(); err != nil {
		return s, err
	}
	if file == "" {
		return s, nil
	}
	w := &wantedLine{line: uint32(min(max(line, 0), noFile))}
	file = path.Clean(file)
	seen := map[uint64]bool{} // line tables; type units share the table of their unit
	for i := range x.units {
		u := &x.units[i]
		r, _, err := x.readRoot(u)
		if err != nil || !r.hasLine || seen[r.line] {
			continue
		}
		seen[r.line] = true
		x.searchTable(u, &r, file, w)
		for _, f := range w.files {
			if f != "" && len(s.Files) < maxMatched && !slices.Contains(s.Files, f) {
				s.Files = append(s.Files, f)
			}
		}
	}
	slices.Sort(s.Files)
	s.Places = x.firsts(w.found)
	if w.next != 0 {
		s.Next = int(w.next)
	}
	return s, nil
}

// searchTable passes the rows of a unit's line table to w if the table has the file.
func (x *Index) searchTable(u *unit, r *root, file string, w *wantedLine) {
	t := &lineTable{encoding: u.encoding}
	c, p, err := x.readLineHeader(t, r)
	w.files = nil
	if err != nil {
		return
	}
	d := &unitData{unit: u, root: *r, table: t}
	base := []byte(path.Base(file))
	for i := range t.files {
		if !bytes.HasSuffix(x.fileNameBytes(d, &t.files[i]), base) {
			continue
		}
		full := x.path(d, uint32(i))
		if !SamePath(full, file) {
			continue
		}
		if w.files == nil {
			w.files = make(map[uint32]string)
		}
		w.files[uint32(i)] = full
	}
	if len(w.files) > 0 {
		t.wanted = w
		t.run(&c, &p)
	}
}

// SamePath reports whether the path that a compiler recorded matches the file that a user
// named. An absolute path must be equal; a relative one must be the end of recorded.
func SamePath(recorded, named string) bool {
	recorded, named = path.Clean(recorded), path.Clean(named)
	return recorded == named || !path.IsAbs(named) && strings.HasSuffix(recorded, "/"+named)
}

// wantedLine collects the rows of one line of the matching files.
type wantedLine struct {
	line    uint32
	files   map[uint32]string // numbers and paths of the files in the current table
	pending []statement       // of the current sequence
	later   uint32            // the next line with code in the current sequence, or 0

	found []statement
	next  uint32 // the next line with code, or 0
}

// statement is a row of the wanted line.
type statement struct {
	addr uint64
	file string
	line uint32
}

func (w *wantedLine) row(r row) {
	file, ok := w.files[r.file]
	switch {
	case !ok || r.line < w.line || r.line == 0: // line 0 means no line
	case r.line > w.line:
		w.later = nearer(w.later, r.line)
	case len(w.found)+len(w.pending) < maxStatements:
		w.pending = append(w.pending, statement{r.addr, file, r.line})
	}
}

// endSequence keeps the pending rows if the sequence is code of the linked file.
func (w *wantedLine) endSequence(real bool) {
	if real {
		w.found = append(w.found, w.pending...)
		w.next = nearer(w.next, w.later)
	}
	w.pending, w.later = w.pending[:0], 0
}

// nearer returns the smaller of two lines; 0 means none.
func nearer(x, y uint32) uint32 {
	if x == 0 || y == 0 {
		return max(x, y)
	}
	return min(x, y)
}

// firsts chooses the first statement of each function and inlined copy. A cold part may be at
// lower addresses than the function's entry; it still counts as last.
func (x *Index) firsts(found []statement) []Place {
	type copyOf struct {
		unit, fn int32
		addr     uint64 // if the code is in no function
	}
	type first struct {
		Place
		into uint64
	}
	best := map[copyOf]first{}
	for _, s := range found {
		key, p := copyOf{-1, -1, s.addr}, Place{Addr: s.addr, File: s.file, Line: int(s.line)}
		var into uint64
		x.where.find(s.addr, func(i int32) bool {
			d, err := x.data(i)
			if err != nil {
				return false
			}
			x.complete(d) // on an error, use what could be read
			fn := d.tree.find(s.addr)
			if fn < 0 {
				return false
			}
			f := x.function(d, fn)
			for f.parent >= 0 && f.callLine == s.line {
				// The line means the call, not the code that was inlined for it.
				fn = f.parent
				f = x.function(d, fn)
			}
			key, p.Function, into = copyOf{i, fn, 0}, f.name, s.addr-x.entryOf(d, f)
			return true
		})
		if old, ok := best[key]; !ok || into < old.into {
			best[key] = first{p, into}
		}
	}
	places := make([]Place, 0, len(best))
	for _, f := range best {
		places = append(places, f.Place)
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Function, b.Function))
	})
	return slices.CompactFunc(places, func(a, b Place) bool { return a.Addr == b.Addr })
}

// entryOf returns the entry address of a function or an inlined copy.
func (x *Index) entryOf(d *unitData, f *function) uint64 {
	c := bytecursor.New(x.s.info[:d.unit.end], f.entry, x.s.order)
	a := d.abbrevs.get(c.ULEB())
	if a == nil {
		return 0
	}
	e := d.unit.readEntry(&c, a)
	low, high := x.pcRange(d.unit, &d.root, e.low, e.high)
	if addr, ok := x.address(d.unit, &d.root, e.entry); ok {
		return addr
	}
	if low < high {
		return low + e.entry.num // an offset in DWARF 5, or absent
	}
	const most = 2 // the first may be the base address of the others
	if spans := x.rangeList(nil, d.unit, &d.root, e.ranges, most); len(spans) > 0 {
		return spans[0].low
	}
	return 0
}
