package kprobe

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/text/cexpr"
	"github.com/ringtap/ringtap/internal/text/match"
)

// member evaluates a member of a struct or union, or of one that a pointer points to.
func (e *evaluator) member(v value, x *cexpr.Member) (value, error) {
	arrow, at, pos, name := x.Op, x.Pos(), x.Name.Pos(), x.Name.Text
	indirect := v.typ.isPointer() || v.typ.kind() == btf.Array
	switch {
	case arrow == "." && v.typ.isPointer():
		return v, e.fail(at, "%s is a pointer (%s): its members are %[1]s->%[3]s", v.name, v.typ, name)
	case arrow == "." && indirect:
		return v, e.fail(at, "%s is an array (%s): name an element, %[1]s[0].%[3]s", v.name, v.typ, name)
	case arrow == "->" && !indirect && v.typ.isStruct():
		return v, e.fail(at, "%s is no pointer, but the %s itself: its members are %[1]s.%[3]s", v.name, v.typ, name)
	case !indirect && !v.typ.isStruct():
		return v, e.fail(at, "%s has no members: it is %s", v.name, v.typ)
	}
	if indirect {
		var err error
		if v, err = e.followed(v, 0, at); err != nil {
			return v, err
		}
	}
	holder, err := e.complete(v.typ)
	if err != nil {
		return v, e.fail(at, "%s leads to %v", v.name, err)
	}
	m, ok := field(holder, name)
	if !ok {
		return v, e.fail(pos, "%s", noMember(holder, name))
	}
	v.typ = ctype{t: m.Type}
	v.offset += int64(m.Bit / 8)
	v.bit, v.width = m.Bit%8, m.Width
	v.name, v.pos = name, pos
	return v, nil
}

// field finds a member. For struct sock, it also knows the kernel's macros for its first
// members (include/net/sock.h): sk_prot means __sk_common.skc_prot.
func field(t btf.Type, name string) (btf.Member, bool) {
	m, ok := t.Field(name)
	rest, isMacro := strings.CutPrefix(name, "sk_")
	if ok || !isMacro || t.Name() != "sock" {
		return m, ok
	}
	common, ok := t.Field("__sk_common")
	if !ok {
		return m, false
	}
	m, ok = common.Type.Resolve().Field("skc_" + rest)
	m.Bit += common.Bit
	return m, ok
}

// complete returns the struct or union of a type. If the type is only declared, it looks for
// the definition. The error says what the type is instead.
func (e *evaluator) complete(c ctype) (btf.Type, error) {
	t := c.t.Resolve()
	switch {
	case c.isStruct():
		return t, nil
	case c.kind() != btf.Forward:
		return t, fmt.Errorf("%s, which has no members", c)
	}
	kind := btf.Struct
	if t.IsUnion() {
		kind = btf.Union
	}
	found, err := e.named(kind, t.Name())
	if err == nil && found.Kind() == btf.Void {
		err = fmt.Errorf("%s, whose members the kernel's type information does not have", c)
	}
	return found, err
}

// named returns the type with a name, or Void if there is none. Some names in the kernel have
// several different types, which is an error.
func (e *evaluator) named(kind btf.Kind, name string) (btf.Type, error) {
	for _, spec := range e.specs {
		var found btf.Type
		for t := range spec.Find(kind, name) {
			size, _ := t.Size()
			if before, _ := found.Size(); found.Kind() != btf.Void && before != size {
				return found, fmt.Errorf("one of several different types that are called %s %s", kind, name)
			}
			if found.Kind() == btf.Void {
				found = t
			}
		}
		if found.Kind() != btf.Void {
			return found, nil
		}
	}
	return btf.Type{}, nil
}

// manyMembers is the maximum number of members searched for similar names.
const manyMembers = 4096

// noMember returns a message that t has no member called name, with similar or existing names.
func noMember(t btf.Type, name string) string {
	members := t.FieldNames(manyMembers)
	near := newNearest(name)
	for _, n := range members {
		near.add(n)
	}
	text := fmt.Sprintf("%s has no member %s", t, name)
	// People often omit the outer of two nested members.
	for i := range t.Len() {
		m := t.Member(i)
		if inner, ok := m.Type.Resolve().Field(name); ok && m.Name != "" {
			return fmt.Sprintf("%s; its %s has: %[2]s.%s", text, m.Name, inner.Name)
		}
	}
	if best := near.found.Names(); len(best) > 0 {
		return text + "; " + match.DidYouMean(best)
	}
	return text + "; it has " + some(members)
}

func (e *evaluator) noParameter(name string) string {
	if e.isReturn {
		return fmt.Sprintf("%s is gone when the function returns; $retval is what it returns", name)
	}
	var names []string
	for _, p := range e.params {
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s has no parameter %s: it has none", e.function, name)
	}
	return fmt.Sprintf("%s has no parameter %s; it has %s", e.function, name, some(names))
}

// some joins names, and cuts a long list.
func some(names []string) string {
	const most = 8
	if len(names) == 0 {
		return "none"
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " …"
	}
	return strings.Join(names, ", ")
}
