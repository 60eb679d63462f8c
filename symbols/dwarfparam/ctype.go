package dwarfparam

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// Type is a type and all types that it refers to. Types may refer to each other in circles.
type Type struct {
	Kind    Kind // Signed, Unsigned, Bool, Char, Enum, Pointer, Float, Struct, Array or Unknown
	Name    string
	Size    int      // in bytes, 0 if unknown
	Elem    *Type    // element of an Array, or target of a Pointer (nil: void)
	Len     int      // elements of an Array
	Members []Member // of a Struct
	Union   bool
}

// Member is a member of a struct or union. If it has no name, it is a base class or an unnamed
// struct whose members belong to the outer struct.
type Member struct {
	Name      string
	Type      *Type
	Bit, Bits int // Bit is the offset from the start of the struct; Bits is the width of a bit field, else 0
}

// maxTypes limits the types that one type refers to. Structs beyond it have no members.
const maxTypes = 20_000

// typeGraph creates Types, one for each entry.
type typeGraph struct {
	known map[uint64]*Type // by the offset of the entry
	parts map[*Type]int    // number of parts of each complete type; see weigh
	open  []openType       // structs whose members are not read yet
	r     *reader
}

type openType struct {
	t *Type
	e dwarfline.DIE
}

func newGraph(r *reader) *typeGraph {
	return &typeGraph{known: map[uint64]*Type{}, parts: map[*Type]int{}, r: r}
}

// graph returns a type and all types that it refers to, breadth first.
func (g *typeGraph) graph(e dwarfline.DIE) *Type {
	t := g.of(e, 0)
	for len(g.open) > 0 && len(g.known) < maxTypes {
		next := g.open[0]
		g.open = g.open[1:]
		g.members(next.t, next.e)
	}
	for _, known := range g.known {
		g.weigh(known)
	}
	return t
}

// maxTypeParts limits the members of a type, including the members of its members.
const maxTypeParts = 10_000

// weigh returns the number of parts of a type. It removes members that would make the type
// contain itself or become too large, which only damaged files have.
func (g *typeGraph) weigh(t *Type) int {
	if n, ok := g.parts[t]; ok {
		return n
	}
	g.parts[t] = maxTypeParts // in case it contains itself
	n := 1
	if t.Kind == Array {
		if n += g.weigh(t.Elem); n > maxTypeParts {
			*t = Type{Size: t.Size}
		}
	}
	t.Members = slices.DeleteFunc(t.Members, func(m Member) bool {
		parts := g.weigh(m.Type)
		if n+parts > maxTypeParts {
			return true
		}
		n += parts
		return false
	})
	g.parts[t] = n
	return n
}

// of returns the type of an entry. The members of structs are read later.
func (g *typeGraph) of(e dwarfline.DIE, depth int) *Type {
	e = plain(e)
	if t := g.known[e.Offset]; t != nil {
		return t
	}
	if depth > maxTypeDepth || len(g.known) >= maxTypes {
		return &Type{}
	}
	size, _ := e.Uint(dwarf.AttrByteSize)
	t := &Type{Name: strings.Clone(e.Text(dwarf.AttrName)), Size: int(min(size, 1<<30))}
	g.known[e.Offset] = t
	under, has := e.Ref(dwarf.AttrType)
	switch {
	case e.Tag == dwarf.TagPointerType || isReference(e):
		t.Kind, t.Size = Pointer, e.AddrSize()
		if has && plain(under).Tag != dwarf.TagSubroutineType {
			t.Elem = g.of(under, depth+1)
		}
	case e.Tag == dwarf.TagArrayType && has:
		g.array(t, e, under, depth)
	case isStruct(e):
		t.Kind, t.Union = Struct, e.Tag == dwarf.TagUnionType
		if t.Name == "" {
			t.Name = fmt.Sprintf("(anonymous %#x)", e.Offset)
		}
		g.open = append(g.open, openType{t, e})
	default:
		known := g.r.resolve(e, 0)
		t.Kind, t.Size = known.kind, int(min(known.size, 1<<30))
	}
	return t
}

// array makes t the array type e. If e has several dimensions, t is the first one.
func (g *typeGraph) array(t *Type, e, under dwarfline.DIE, depth int) {
	elem := g.of(under, depth+1)
	lens := bounds(e)
	for i := len(lens) - 1; i >= 0; i-- {
		one := t
		if i > 0 {
			one = &Type{}
		}
		n := min(lens[i], 1<<30)
		*one = Type{Kind: Array, Elem: elem, Len: int(n), Size: int(min(n*uint64(elem.Size), 1<<30))}
		elem = one
	}
}

func (g *typeGraph) members(t *Type, e dwarfline.DIE) {
	eachMember(e, func(m dwarfline.DIE, bit uint64) bool {
		of, has := m.Ref(dwarf.AttrType)
		if !has {
			return true
		}
		width, _ := m.Uint(dwarf.AttrBitSize)
		t.Members = append(t.Members, Member{strings.Clone(m.Text(dwarf.AttrName)), g.of(of, 0), int(bit), int(min(width, 64))})
		return len(t.Members) < maxFields
	})
}

// FindType returns the type with a name: "struct x", "union x", "enum x" or the name of a
// typedef. It searches the compilation unit of the function that starts at vaddr first, then
// the other units. It returns false if no unit defines the type.
func FindType(x *dwarfline.Index, vaddr uint64, name string, opts Options) (*Type, bool) {
	tags := []dwarf.Tag{dwarf.TagTypedef, dwarf.TagBaseType}
	if word, rest, ok := strings.Cut(name, " "); ok {
		name = rest
		switch word {
		case "struct":
			tags = []dwarf.Tag{dwarf.TagStructType, dwarf.TagClassType}
		case "union":
			tags = []dwarf.Tag{dwarf.TagUnionType}
		case "enum":
			tags = []dwarf.Tag{dwarf.TagEnumerationType}
		default:
			return nil, false
		}
	}
	var found *Type
	x.Units(vaddr, func(unit dwarfline.DIE) bool {
		unit.Children(func(e dwarfline.DIE) bool {
			if e.Text(dwarf.AttrName) != name || e.Has(dwarf.AttrDeclaration) {
				return true
			}
			for _, tag := range tags {
				if e.Tag == tag {
					found = newGraph(newReader(unit, 0, opts)).graph(e)
				}
			}
			return found == nil
		})
		return found == nil
	})
	return found, found != nil
}
