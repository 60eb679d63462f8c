package dwarfline

import (
	"container/list"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// cacheBytes is approximately how much memory the decoded units may take. The unit in use is
// always kept.
const cacheBytes = 64 << 20

type unitData struct {
	unit    *unit
	index   int32
	root    root
	abbrevs *abbrevTable
	tree    *tree      // nil until complete
	table   *lineTable // nil until complete
	err     error      // first error of complete
	cost    int        // estimated bytes
}

// cache holds the recently used units.
type cache struct {
	order list.List // of *unitData, the most recently used first
	units map[int32]*list.Element
	cost  int
	limit int // of the total cost
}

// charge adds bytes to the cost of d, and drops the least recently used units if the cache is
// full.
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
	abbrevs, err := readAbbrevs(bytecursor.New(x.s.abbrev, u.abbrevs, x.s.order), u.encoding, 0)
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

// complete decodes the functions and the line table of d. It keeps the usable parts of a
// damaged unit. The error is reported only if nothing is found.
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
