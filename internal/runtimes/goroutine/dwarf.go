package goroutine

import (
	"debug/dwarf"
	"encoding/binary"
	"strings"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// maxDebugBytes bounds one file's uncompressed debug information.
const maxDebugBytes = 1 << 30

// debugSections gives an image's sections as a dwarfline.Source.
type debugSections struct{ image *elfimage.Image }

func (d debugSections) SectionData(name string) ([]byte, error) {
	return d.image.Uncompressed(name, maxDebugBytes)
}

// layoutOf reads the layout from a program's debug information. It finds runtime.g as the type
// of a *runtime.g parameter of the function runtime.allgadd, whose address in the file is
// allgadd. missing says what could not be found, or is "".
func layoutOf(m *elfimage.Image, allgadd uint64) (l layout, missing string) {
	index, err := dwarfline.Open(debugSections{m}, binary.LittleEndian)
	if err != nil {
		return l, err.Error()
	}
	function, ok, err := index.Subprogram(allgadd)
	if err != nil {
		return l, err.Error()
	}
	if !ok {
		return l, "it has no debug information about the runtime"
	}
	var g dwarfline.DIE
	for child := range function.Children {
		if child.Tag == dwarf.TagFormalParameter {
			g = pointee(child)
			break
		}
	}
	if g.Text(dwarf.AttrName) != "runtime.g" {
		return l, "its debug information has no type runtime.g"
	}
	for f, name := range names {
		at := g
		if rest, found := strings.CutPrefix(name, "m."); found {
			name = rest
			at = pointee(member(g, "m"))
		}
		offset, ok := offsetOf(at, name)
		if !ok && !mayLack(field(f)) {
			return l, "its debug information has no " + names[f] + " in runtime.g"
		}
		if !ok {
			offset = absent
		}
		l[f] = int16(offset)
	}
	return l, ""
}

// offsetOf returns the offset of a structure's member. A path a.b is member b of the structure
// in member a.
func offsetOf(e dwarfline.DIE, path string) (offset int, ok bool) {
	for name := range strings.SplitSeq(path, ".") {
		m := member(e, name)
		n, ok := m.Uint(dwarf.AttrDataMemberLoc)
		if !ok || n > maxOffset {
			return 0, false
		}
		offset += int(n)
		e = typeOf(m)
	}
	return offset, offset <= maxOffset
}

func member(e dwarfline.DIE, name string) dwarfline.DIE {
	for child := range e.Children {
		if child.Tag == dwarf.TagMember && child.Text(dwarf.AttrName) == name {
			return child
		}
	}
	return dwarfline.DIE{}
}

// typeOf returns an entry's type, with typedefs resolved.
func typeOf(e dwarfline.DIE) dwarfline.DIE {
	if origin, ok := e.Ref(dwarf.AttrAbstractOrigin); ok {
		e = origin
	}
	for range 8 {
		next, ok := e.Ref(dwarf.AttrType)
		if !ok {
			return dwarfline.DIE{}
		}
		if e = next; e.Tag != dwarf.TagTypedef {
			return e
		}
	}
	return dwarfline.DIE{}
}

// pointee returns the type that an entry with a pointer type points to.
func pointee(e dwarfline.DIE) dwarfline.DIE {
	if e = typeOf(e); e.Tag != dwarf.TagPointerType {
		return dwarfline.DIE{}
	}
	return typeOf(e)
}
