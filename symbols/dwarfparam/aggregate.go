package dwarfparam

import (
	"debug/dwarf"
	"strings"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// aggregate reads the members of a struct, class or union.
func (r *reader) aggregate(t *typ, e dwarfline.DIE, depth int) {
	t.kind, t.class, t.align, t.union = Struct, classAggregate, 1, e.Tag == dwarf.TagUnionType
	if declared, _ := e.Uint(dwarf.AttrDeclaration); declared != 0 || e.Has(dwarf.AttrSignature) {
		t.class = classUnknown // its members are not described
		return
	}
	e.Children(func(c dwarfline.DIE) bool {
		switch c.Tag {
		case dwarf.TagMember, dwarf.TagInheritance:
			r.member(t, c, depth)
		case dwarf.TagVariantPart:
			t.variants = true
		case dwarf.TagSubprogram:
			t.byReference = t.byReference || copiesItself(c, t.name)
		}
		return len(t.fields) < maxFields
	})
	const byReference, byValue = 4, 5 // DW_CC_pass_by_reference, DW_CC_pass_by_value
	switch cc, _ := e.Uint(dwarf.AttrCalling); cc {
	case byReference:
		t.byReference = true
	case byValue:
		t.byReference = false
	}
	if r.isText(t) {
		t.kind = Text
	}
}

// member adds a member or base class.
func (r *reader) member(t *typ, e dwarfline.DIE, depth int) {
	if static, _ := e.Uint(dwarf.AttrExternal); static != 0 {
		return
	}
	bit, _ := memberBit(e)
	f := field{name: e.Text(dwarf.AttrName), typ: unknownType, offset: bit / 8, bits: e.Has(dwarf.AttrBitSize)}
	if to, ok := e.Ref(dwarf.AttrType); ok {
		f.typ = r.resolve(to, depth+1)
		if len(f.typ.fields) == 0 {
			f.text = r.text(to)
		}
	}
	if virtual, _ := e.Uint(dwarf.AttrVirtuality); virtual != 0 || f.typ.byReference || strings.HasPrefix(f.name, "_vptr") {
		t.byReference = true
	}
	t.variants = t.variants || f.typ.variants
	t.align = max(t.align, f.typ.align)
	t.fields = append(t.fields, f)
}

// copiesItself reports whether e, a member function of class name, forces values of the class
// to be passed by reference (Itanium C++ ABI, "Non-trivial for the purposes of calls"). That is
// so for a copy or move constructor, or a destructor, that is not defaulted in the class.
func copiesItself(e dwarfline.DIE, name string) bool {
	const inClass = 1 // DW_DEFAULTED_in_class
	if how, _ := e.Uint(dwarf.AttrDefaulted); how == inClass {
		return false
	}
	if artificial, _ := e.Uint(dwarf.AttrArtificial); artificial != 0 {
		return false
	}
	class, _, _ := strings.Cut(name, "<")
	switch e.Text(dwarf.AttrName) {
	case "~" + class:
		return true
	case class:
		var types []dwarfline.DIE
		e.Children(func(c dwarfline.DIE) bool {
			if artificial, _ := c.Uint(dwarf.AttrArtificial); c.Tag == dwarf.TagFormalParameter && artificial == 0 {
				t, _ := c.Ref(dwarf.AttrType)
				types = append(types, t)
			}
			return len(types) < 2
		})
		if len(types) != 1 || types[0].Tag != dwarf.TagReferenceType && types[0].Tag != dwarf.TagRvalueReferenceType {
			return false
		}
		to, _ := types[0].Ref(dwarf.AttrType)
		if to.Tag == dwarf.TagConstType {
			to, _ = to.Ref(dwarf.AttrType)
		}
		return to.Text(dwarf.AttrName) == name
	}
	return false
}

// isText reports whether a type is a Go or Rust string.
func (r *reader) isText(t *typ) bool {
	switch r.lang {
	case langGo:
		return t.goKind == goString
	case langRust:
		return t.name == "&str" || t.name == "&mut str"
	}
	return false
}
