package dwarfline

import (
	"container/list"
	"fmt"
)

// cacheBytes is about how much memory the decoded units may take. The unit in
// use is kept whatever it takes.
const cacheBytes = 64 << 20

// unitData is what has been decoded of a unit.
type unitData struct {
	unit    *unit
	index   int32
	root    root
	abbrevs *abbrevTable
	tree    *tree      // nil until complete
	table   *lineTable // nil until complete
	err     error      // what complete could not read
	cost    int        // bytes, estimated
}

// cache holds the units used last.
type cache struct {
	order list.List // of *unitData, the one used last in front
	units map[int32]*list.Element
	cost  int
	limit int // of cost
}

// charge accounts for bytes more of memory of d and drops the units that were
// not used for longest.
func (c *cache) charge(d *unitData, bytes int) {
	d.cost += bytes
	if c.units[d.index] == nil {
		return // dropped while in use
	}
	c.cost += bytes
	for c.cost > c.limit && c.order.Len() > 1 {
		last := c.order.Back()
		if last.Value == d {
			break
		}
		old := c.order.Remove(last).(*unitData)
		delete(c.units, old.index)
		c.cost -= old.cost
	}
}

// data returns unit i with its root entry and abbreviations decoded.
func (x *Index) data(i int32) (*unitData, error) {
	if e := x.cache.units[i]; e != nil {
		x.cache.order.MoveToFront(e)
		return e.Value.(*unitData), nil
	}
	u := &x.units[i]
	abbrevs, err := readAbbrevs(at(x.s.abbrev, u.abbrevs, x.s.order), u.encoding, 0)
	if err != nil {
		return nil, fmt.Errorf("unit at %#x: %w", u.start, err)
	}
	d := &unitData{unit: u, index: i, abbrevs: abbrevs}
	if d.root, _, err = x.readRoot(u); err != nil {
		return nil, err
	}
	x.cache.units[i] = x.cache.order.PushFront(d)
	x.cache.charge(d, 512+16*abbrevs.bytes)
	return d, nil
}

// complete decodes the functions and the line table of d. What can be used of
// a damaged unit is used; the error is kept for when nothing is found.
func (x *Index) complete(d *unitData) error {
	if d.tree != nil {
		return d.err
	}
	var treeErr, tableErr error
	d.tree, treeErr = x.readTree(d.unit, &d.root, d.abbrevs)
	d.table, tableErr = x.readLines(d.unit, &d.root)
	if d.err = treeErr; d.err == nil {
		d.err = tableErr
	}
	x.cache.charge(d, 16*len(d.tree.segments)+64*len(d.tree.functions)+
		16*len(d.table.rows)+32*len(d.table.sequences)+64*(len(d.table.files)+len(d.table.dirs)))
	return d.err
}
