package dwarfline

import (
	"container/list"
	"debug/dwarf"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// A Splitter is a Source that also finds split units. With -gsplit-dwarf, compilers put units
// into separate files and leave only skeletons in the file itself (DWARF 5 section 3.1.3).
type Splitter interface {
	Source
	// Split returns the sections that contain the unit of a skeleton. The Index asks for
	// section names without the .dwo suffix.
	Split(Skeleton) (Source, error)
}

// A Skeleton identifies a split unit.
type Skeleton struct {
	Name string // path of the unit's file, relative to Dir or absolute
	Dir  string // compilation directory
	ID   uint64 // same as in the split unit
}

// Attributes of skeletons before DWARF 5.
const (
	attrGNUDwoName    dwarf.Attr = 0x2130
	attrGNUDwoID      dwarf.Attr = 0x2131
	attrGNURangesBase dwarf.Attr = 0x2132
)

// maxSplits is the number of split units kept: a profile has code of many units, and the search
// for a type may go through thousands.
const maxSplits = 32

// split is the result of opening a skeleton's unit.
type split struct {
	skeleton int32
	part     *Index // Index of the split unit's file
	unit     int32  // the unit's index there
	err      error
}

// whole returns unit i, or its split unit if it is a skeleton, and the Index that has it. With
// an error, it returns the skeleton.
func (x *Index) whole(i int32) (*Index, *unitData, error) {
	d, err := x.data(i)
	if err != nil || x.skeleton != nil || d.root.splitName.form == 0 {
		return x, d, err
	}
	var s split
	for _, known := range x.splits {
		if known.skeleton == i {
			s = known
		}
	}
	if s.part == nil && s.err == nil {
		s = split{skeleton: i}
		s.part, s.unit, s.err = x.openSplit(d)
		if x.splits = append(x.splits, s); len(x.splits) > maxSplits {
			x.splits = x.splits[1:]
		}
	}
	if s.err != nil {
		return x, d, s.err
	}
	of, err := s.part.data(s.unit)
	if err != nil {
		return x, d, err
	}
	return s.part, of, nil
}

// openSplit returns an Index of the file with the skeleton's unit, and the unit's index there.
func (x *Index) openSplit(d *unitData) (*Index, int32, error) {
	skeleton := Skeleton{Name: x.text(d.unit, &d.root, d.root.splitName), Dir: d.root.dir, ID: d.root.splitID}
	if d.unit.version >= 5 {
		skeleton.ID = d.unit.signature
	}
	var from Source
	err := errors.New("nothing finds it")
	if src, ok := x.src.(Splitter); ok {
		from, err = src.Split(skeleton)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("debug information is split off to %s: %w", skeleton.Name, err)
	}
	s, err := readSections(from, x.s.order)
	if err != nil {
		return nil, 0, fmt.Errorf("debug information in %s: %w", skeleton.Name, err)
	}
	s.addr, s.ranges = x.s.addr, x.s.ranges // these are only in the linked file
	part := &Index{
		src: from, s: s, read: true, units: readUnits(s), skeleton: &d.root,
		cache: cache{units: make(map[int32]*list.Element), limit: cacheBytes},
	}
	for i := range part.units {
		u := &part.units[i]
		if u.version != d.unit.version || u.typeEntry != 0 {
			continue
		}
		id := u.signature
		if u.version < 5 {
			r, _, err := part.readRoot(u)
			if err != nil {
				return nil, 0, fmt.Errorf("debug information in %s: %w", skeleton.Name, err)
			}
			id = r.splitID
		}
		if id == skeleton.ID {
			return part, int32(i), nil
		}
		if u.version < 5 {
			break // a file has one of these sections
		}
	}
	return nil, 0, fmt.Errorf("debug information in %s belongs to another build", skeleton.Name)
}

// join completes the root of a split unit with the values that only its skeleton has. Bases
// that are not given start after the headers of their sections (DWARF 5 section 7.26 to 7.29).
func (r *root) join(skeleton *root, u *unit) {
	r.addrBase = skeleton.addrBase
	if u.version < 5 {
		r.rangesBase = skeleton.splitRanges
		return
	}
	length := uint64(4) // of an initial length
	if u.offsetSize == 8 {
		length = 12
	}
	r.strBase = length + 4
	r.rangesBase, r.locBase = length+8, length+8
}

// locationOfGNU searches a list in .debug_loc.dwo for an address, the form of split files
// before DWARF 5 (https://gcc.gnu.org/wiki/DebugFission).
func (x *Index) locationOfGNU(d *unitData, off, vaddr uint64) []byte {
	u, r := d.unit, &d.root
	base := r.low
	c := bytecursor.New(x.s.loc, off, x.s.order)
	for range maxLocations {
		var low, high uint64
		switch c.U8() {
		case 1: // base address
			base, _ = x.addressAt(u, r, c.ULEB())
			continue
		case 2: // start and end
			low, _ = x.addressAt(u, r, c.ULEB())
			high, _ = x.addressAt(u, r, c.ULEB())
		case 3: // start and length
			low, _ = x.addressAt(u, r, c.ULEB())
			high = low + c.Uint(4)
		case 4: // offsets
			low = base + c.Uint(4)
			high = base + c.Uint(4)
		default:
			return nil
		}
		expr := c.Bytes(uint64(c.U16()))
		if c.Err() != nil {
			return nil
		}
		if low <= vaddr && vaddr < high {
			return expr
		}
	}
	return nil
}
