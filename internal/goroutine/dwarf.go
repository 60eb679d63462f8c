package goroutine

import (
	"debug/dwarf"
	"encoding/binary"
	"strings"

	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// maxDebugBytes bounds the debug information of one file, uncompressed.
const maxDebugBytes = 1 << 30

// debugSections are the sections of an image, as dwarfline.Source.
type debugSections struct{ image *elfimage.Image }

func (d debugSections) SectionData(name string) ([]byte, error) {
	return d.image.Uncompressed(name, maxDebugBytes)
}

// layoutOf reads the layout from the debug information of a program, by the type of
// a parameter that is a *runtime.g: that of the function runtime.allgadd, which is
// at an address of the file. It says what is missing, "" if nothing is.
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

// offsetOf finds a member of a structure, or one of a structure in it.
func offsetOf(at dwarfline.DIE, path string) (offset int, ok bool) {
	for name := range strings.SplitSeq(path, ".") {
		m := member(at, name)
		n, ok := m.Uint(dwarf.AttrDataMemberLoc)
		if !ok || n > maxOffset {
			return 0, false
		}
		offset += int(n)
		at = typeOf(m)
	}
	return offset, offset <= maxOffset
}

func member(at dwarfline.DIE, name string) dwarfline.DIE {
	for child := range at.Children {
		if child.Tag == dwarf.TagMember && child.Text(dwarf.AttrName) == name {
			return child
		}
	}
	return dwarfline.DIE{}
}

// typeOf is the type of an entry, without the names given to it.
func typeOf(at dwarfline.DIE) dwarfline.DIE {
	if origin, ok := at.Ref(dwarf.AttrAbstractOrigin); ok {
		at = origin
	}
	for range 8 {
		next, ok := at.Ref(dwarf.AttrType)
		if !ok {
			return dwarfline.DIE{}
		}
		if at = next; at.Tag != dwarf.TagTypedef {
			return at
		}
	}
	return dwarfline.DIE{}
}

// pointee is what an entry of a pointer type points at.
func pointee(at dwarfline.DIE) dwarfline.DIE {
	if at = typeOf(at); at.Tag != dwarf.TagPointerType {
		return dwarfline.DIE{}
	}
	return typeOf(at)
}
