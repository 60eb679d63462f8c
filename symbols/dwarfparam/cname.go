package dwarfparam

import (
	"debug/dwarf"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// maxText is where the text of a type is cut, in bytes.
const maxText = 4 << 10

// text returns a type as its language writes it.
func (r *reader) text(e dwarfline.DIE) string {
	var text string
	if r.lang.isC() {
		text = usualNames.Replace(r.declare(e, "", 0))
	} else {
		text = r.named(e, 0)
	}
	return text[:min(len(text), maxText)]
}

// usualNames turns what compilers call the integers of C into what people write.
var usualNames = strings.NewReplacer(
	"long long unsigned int", "unsigned long long", "long unsigned int", "unsigned long", "short unsigned int", "unsigned short",
	"long long int", "long long", "long int", "long", "short int", "short",
)

// named returns the name of a type of Go, whose names are complete, or of Rust,
// where pointers have one and others are in modules.
func (r *reader) named(e dwarfline.DIE, depth int) string {
	e = complete(e)
	name := e.Text(dwarf.AttrName)
	if r.lang == langRust && name != "" && e.Tag != dwarf.TagBaseType && e.Tag != dwarf.TagPointerType && !strings.HasPrefix(name, "&") {
		return strings.Join(append(e.Path(), name), "::")
	}
	under, ok := e.Ref(dwarf.AttrType)
	if name != "" || !ok || depth > maxTypeDepth {
		return name
	}
	switch e.Tag {
	case dwarf.TagPointerType:
		return "*" + r.named(under, depth+1)
	case dwarf.TagArrayType:
		for _, n := range bounds(e) {
			return fmt.Sprintf("[%s; %d]", r.named(under, depth+1), n)
		}
	}
	return ""
}

// declare writes the declaration of something of a type of C or C++: inner is
// what is already written around the name.
func (r *reader) declare(e dwarfline.DIE, inner string, depth int) string {
	e = complete(e)
	under, ok := e.Ref(dwarf.AttrType)
	if depth > maxTypeDepth || len(inner) > maxText {
		return "..." + inner
	}
	next := func(inner string) string {
		if !ok {
			return apart("void", inner)
		}
		return r.declare(under, inner, depth+1)
	}
	switch e.Tag {
	case dwarf.TagConstType:
		return r.qualify("const", under, inner, next)
	case dwarf.TagVolatileType:
		return r.qualify("volatile", under, inner, next)
	case dwarf.TagAtomicType:
		return r.qualify("_Atomic", under, inner, next)
	case dwarf.TagRestrictType:
		return next(apart(" restrict", inner))
	case dwarf.TagPointerType:
		return next(pointTo(under, "*"+inner))
	case dwarf.TagReferenceType:
		return next(pointTo(under, "&"+inner))
	case dwarf.TagRvalueReferenceType:
		return next(pointTo(under, "&&"+inner))
	case dwarf.TagPtrToMemberType:
		class, _ := e.Ref(dwarf.AttrContainingType)
		return next(pointTo(under, r.declare(class, "", depth+1)+"::*"+inner))
	case dwarf.TagArrayType:
		if vector, _ := e.Uint(attrGNUVector); vector != 0 {
			var n uint64
			for _, n = range bounds(e) {
			}
			return next(fmt.Sprintf(" __attribute__ ((vector_size(%d)))%s", n, inner))
		}
		var dims strings.Builder
		for _, n := range bounds(e) {
			if n == 0 {
				dims.WriteString("[]")
			} else {
				fmt.Fprintf(&dims, "[%d]", n)
			}
		}
		if strings.HasSuffix(inner, ")") {
			return next(inner + dims.String())
		}
		return next(apart(inner, dims.String()))
	case dwarf.TagSubroutineType:
		return next(inner + "(" + r.parameters(e, depth) + ")")
	}
	return apart(r.cname(e), inner)
}

// qualify puts const or volatile before a type, or behind the * of a pointer.
func (r *reader) qualify(word string, under dwarfline.DIE, inner string, next func(string) string) string {
	switch under.Tag {
	case dwarf.TagPointerType, dwarf.TagPtrToMemberType, dwarf.TagRestrictType:
		return next(apart(" "+word, inner))
	}
	text := next(inner)
	if rest, ok := strings.CutPrefix(text, "const "); ok {
		return "const " + word + " " + rest // in the usual order
	}
	return word + " " + text
}

// pointTo puts what points to a function or an array in parentheses.
func pointTo(under dwarfline.DIE, inner string) string {
	if under.Tag == dwarf.TagSubroutineType || under.Tag == dwarf.TagArrayType && !under.Has(attrGNUVector) {
		return "(" + inner + ")"
	}
	return inner
}

// apart joins with a space between.
func apart(x, y string) string {
	if x == "" || y == "" || strings.HasPrefix(y, " ") {
		return x + y
	}
	return x + " " + y
}

// parameters lists the types of a function type's parameters.
func (r *reader) parameters(e dwarfline.DIE, depth int) string {
	var types []string
	e.Children(func(c dwarfline.DIE) bool {
		switch c.Tag {
		case dwarf.TagFormalParameter:
			t, _ := c.Ref(dwarf.AttrType)
			types = append(types, r.declare(t, "", depth+1))
		case dwarf.TagUnspecifiedParameters:
			types = append(types, "...")
		}
		return len(types) < maxParts
	})
	if prototyped, _ := e.Uint(dwarf.AttrPrototyped); len(types) == 0 && prototyped != 0 && r.lang == langC {
		return "void"
	}
	return strings.Join(types, ", ")
}

// cname names a type that has a name of its own.
func (r *reader) cname(e dwarfline.DIE) string {
	name := e.Text(dwarf.AttrName)
	word := ""
	switch e.Tag {
	case 0:
		return "void"
	case dwarf.TagStructType:
		word = "struct"
	case dwarf.TagClassType:
		word = "class"
	case dwarf.TagUnionType:
		word = "union"
	case dwarf.TagEnumerationType:
		word = "enum"
	}
	if name == "" {
		return apart(word, "{...}")
	}
	if r.lang == langCPlusPlus {
		if e.Tag == dwarf.TagBaseType {
			return name
		}
		return strings.Join(append(e.Path(), name), "::")
	}
	return apart(word, name)
}
