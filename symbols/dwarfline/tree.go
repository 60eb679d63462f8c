package dwarfline

import (
	"debug/dwarf"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// Limits of one unit.
const (
	maxInlines = 256     // depth of a chain of inlined calls
	maxSpans   = 1 << 22 // ranges of all functions
)

// function is a subprogram or an inlined copy of one.
type function struct {
	entry    uint64 // offset in .debug_info
	parent   int32  // index of the function it is inlined into, or -1
	depth    int32  // number of parents
	callFile uint32 // the call that was inlined
	callLine uint32
	known    bool // whether name and line have been looked up
	line     int
	name     string
}

// tree has the functions of one unit, and the addresses of each.
type tree struct {
	functions []function
	segments  []segment
}

// piece is one address range of a function.
type piece struct {
	span
	fn int32
}

// readTree reads all entries of u (DWARF 5 section 3.3). On an error it also returns what it
// has read so far.
func (x *Index) readTree(u *unit, r *root, abbrevs *abbrevTable) (*tree, error) {
	t := &tree{}
	var (
		pieces  []piece
		parents []int32 // the function around each open entry
		around  = int32(-1)
		err     error
	)
	limit := min(maxSpans, int(u.end-u.start)+len(x.s.ranges)+len(x.s.rngLists))
	c := bytecursor.New(x.s.info[:u.end], u.entries, x.s.order)
	for c.Left() > 0 {
		entry := c.Offset()
		code := c.ULEB()
		if code == 0 {
			if len(parents) == 0 {
				break
			}
			around = parents[len(parents)-1]
			parents = parents[:len(parents)-1]
			continue
		}
		a := abbrevs.get(code)
		if a == nil {
			err = fmt.Errorf("entry at %#x: no abbreviation %d", entry, code)
			break
		}
		inside := around
		var sibling uint64
		switch {
		case a.tag == dwarf.TagSubprogram, a.tag == dwarf.TagInlinedSubroutine:
			if a.tag == dwarf.TagSubprogram {
				inside = -1
			}
			if !a.placed {
				// Entries within a declaration have no code.
				if a.declares && a.children {
					sibling = u.readSibling(&c, a)
				} else {
					u.skipEntry(&c, a)
				}
				break
			}
			e := u.readEntry(&c, a)
			had := len(pieces)
			pieces = x.appendPieces(pieces, u, r, &e, int32(len(t.functions)), limit)
			if len(pieces) > had {
				inside = t.add(entry, inside, &e)
			}
		case a.children && (a.tag == dwarf.TagEnumerationType || a.tag == dwarf.TagSubroutineType):
			sibling = u.readSibling(&c, a)
		default:
			u.skipEntry(&c, a)
		}
		switch {
		case !a.children:
		case sibling > c.Offset() && sibling <= u.end:
			c.Seek(sibling)
		default:
			parents = append(parents, around)
			around = inside
		}
	}
	if c.Err() != nil {
		err = fmt.Errorf("read entries of unit at %#x: %w", u.start, c.Err())
	}
	t.segments = flatten(pieces)
	return t, err
}

// add appends a function and returns its index. If the chain is too deep, the function replaces
// the deepest allowed level.
func (t *tree) add(entry uint64, parent int32, e *entry) int32 {
	f := function{entry: entry, parent: parent, callFile: clip(e.callFile), callLine: clip(e.callLine)}
	if parent >= 0 {
		p := &t.functions[parent]
		if f.depth = p.depth + 1; f.depth >= maxInlines {
			f.parent, f.depth = p.parent, p.depth
		}
	}
	t.functions = append(t.functions, f)
	return int32(len(t.functions) - 1)
}

func clip(n uint64) uint32 { return uint32(min(n, noFile)) }

func (x *Index) appendPieces(dst []piece, u *unit, r *root, e *entry, fn int32, limit int) []piece {
	if low, high := x.pcRange(u, r, e.low, e.high); (span{low, high}).real() && len(dst) < limit {
		dst = append(dst, piece{span{low, high}, fn})
	}
	if e.ranges.form == 0 {
		return dst
	}
	x.spans = x.rangeList(x.spans[:0], u, r, e.ranges, limit-len(dst))
	for _, s := range x.spans {
		dst = append(dst, piece{s, fn})
	}
	return dst
}
