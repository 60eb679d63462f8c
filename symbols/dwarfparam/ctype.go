package dwarfparam

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// Type is a type with all that it leads to: types may point to each other in circles.
type Type struct {
	Kind    Kind // Signed, Unsigned, Bool, Char, Enum, Pointer, Float, Struct, Array or Unknown
	Name    string
	Size    int      // in bytes, 0 when unknown
	Elem    *Type    // of a Pointer (nil: to anything) and of an Array
	Len     int      // elements of an Array
	Members []Member // of a Struct
	Union   bool
}

// Member is a member of a struct or union. One without a name is a base class, or an unnamed struct,
// whose members are found through it.
type Member struct {
	Name      string
	Type      *Type
	Bit, Bits int // from the start of the struct, and the width of a bit field, 0 of others
}

// maxTypes bounds the types that one leads to. Structs beyond have no members.
const maxTypes = 20_000

// typeGraph makes Types, each of them once.
type typeGraph struct {
	known map[uint64]*Type // by the offset of their entries
	parts map[*Type]int    // how many each has, of those that are complete
	open  []openType       // structs without their members yet
	r     *reader
}

type openType struct {
	t *Type
	e dwarfline.DIE
}

func newGraph(r *reader) *typeGraph {
	return &typeGraph{known: map[uint64]*Type{}, parts: map[*Type]int{}, r: r}
}

// graph returns a type with all that it leads to, the nearest first.
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

// maxTypeParts bounds the members of a type with those of its members.
const maxTypeParts = 10_000

// weigh returns how many parts a value of a type has. Members that would make it part of itself, or too
// large, which only damaged files have, are left out.
func (g *typeGraph) weigh(t *Type) int {
	if n, ok := g.parts[t]; ok {
		return n
	}
	g.parts[t] = maxTypeParts // as part of itself
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

// of returns a type. The members of structs are found later.
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

// array makes t the array that e is: of several dimensions, that of the first.
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
	e.Children(func(m dwarfline.DIE) bool {
		bit, fixed := memberBit(m)
		of, has := m.Ref(dwarf.AttrType)
		if m.Tag != dwarf.TagMember && m.Tag != dwarf.TagInheritance || !fixed || !has {
			return true
		}
		width, _ := m.Uint(dwarf.AttrBitSize)
		t.Members = append(t.Members, Member{strings.Clone(m.Text(dwarf.AttrName)), g.of(of, 0), int(bit), int(min(width, 64))})
		return len(t.Members) < maxFields
	})
}

// FindType returns a type of the compilation unit whose function begins at vaddr, or else of another:
// "struct x", "union x", "enum x" or the name of a typedef. It is false if none is defined.
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
