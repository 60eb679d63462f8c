package dwarfparam

import (
	"debug/dwarf"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// maxText is the maximum length of a type's text, in bytes; longer text is cut.
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

// usualNames replaces compilers' names of C integers by the names that people write.
var usualNames = strings.NewReplacer(
	"long long unsigned int", "unsigned long long", "long unsigned int", "unsigned long", "short unsigned int", "unsigned short",
	"long long int", "long long", "long int", "long", "short int", "short",
)

// named returns the name of a Go or Rust type. Go's names are complete. In Rust, the path of
// modules is added, except for base types and pointers.
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

// declare writes the C or C++ declaration of an object of type e. inner is the part of the
// declarator that has already been written.
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

// qualify writes const or volatile: before a type, or after the * of a pointer.
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

// pointTo puts the declarator of a pointer to a function or an array in parentheses.
func pointTo(under dwarfline.DIE, inner string) string {
	if under.Tag == dwarf.TagSubroutineType || under.Tag == dwarf.TagArrayType && !under.Has(attrGNUVector) {
		return "(" + inner + ")"
	}
	return inner
}

// apart joins x and y with a space.
func apart(x, y string) string {
	if x == "" || y == "" || strings.HasPrefix(y, " ") {
		return x + y
	}
	return x + " " + y
}

// parameters lists the parameter types of a function type.
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

// cname returns the name of a type that is not derived from another one.
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
