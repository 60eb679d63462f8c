package dwarfline

import (
	"debug/dwarf"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// behind returns the offset after an entry's attributes, and the offset of its next sibling, or
// 0 if the entry does not have it. ok is false if the entry is damaged.
func (e DIE) behind() (next, sibling uint64, ok bool) {
	c := bytecursor.New(e.x.s.info[:e.d.unit.end], e.attrs, e.x.s.order)
	if e.a.children {
		sibling = e.d.unit.readSibling(&c, e.a)
	} else {
		e.d.unit.skipEntry(&c, e.a)
	}
	if sibling <= c.Offset() || sibling > e.d.unit.end {
		sibling = 0
	}
	return c.Offset(), sibling, c.Err() == nil
}

// Children calls yield with each entry directly below e until yield returns false.
func (e DIE) Children(yield func(DIE) bool) {
	if e.a == nil || !e.a.children {
		return
	}
	off, _, ok := e.behind()
	for depth := 0; ok; {
		if off < e.d.unit.end && e.x.s.info[off] == 0 {
			off++
			if depth--; depth < 0 {
				return
			}
			continue
		}
		var child DIE
		if child, ok = e.x.die(e.d, off, e.left); !ok {
			return
		}
		if depth == 0 && !yield(child) {
			return
		}
		next, sibling, read := child.behind()
		ok = read
		switch {
		case !child.a.children:
			off = next
		case sibling != 0:
			off = sibling
		default:
			off = next
			depth++
		}
	}
}

// Path returns the names of the namespaces and types that contain e, the outermost first. An
// unnamed namespace is "(anonymous namespace)".
func (e DIE) Path() []string {
	if e.a == nil {
		return nil
	}
	at, ok := e.x.die(e.d, e.d.unit.entries, e.left)
	var around []DIE
	for ok && at.Offset < e.Offset {
		next, sibling, read := at.behind()
		off := next
		switch {
		case !read:
			return nil
		case !at.a.children:
		case sibling != 0 && sibling <= e.Offset:
			off = sibling
		default:
			around = append(around, at)
		}
		for off < e.d.unit.end && e.x.s.info[off] == 0 {
			if len(around) == 0 {
				return nil
			}
			around = around[:len(around)-1]
			off++
		}
		at, ok = e.x.die(e.d, off, e.left)
	}
	if !ok || at.Offset != e.Offset {
		return nil
	}
	var names []string
	for _, a := range around {
		switch a.Tag {
		case dwarf.TagNamespace, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType:
			name := a.Text(dwarf.AttrName)
			if name == "" && a.Tag == dwarf.TagNamespace {
				name = "(anonymous namespace)"
			}
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}
