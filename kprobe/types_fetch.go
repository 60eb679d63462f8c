package kprobe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/host/btf"
)

// Limits of kernel/trace/trace_probe.h.
const (
	maxArray   = 64 // MAX_ARRAY_LEN
	maxFetched = 63 // MAX_ARGSTR_LEN
)

// fetch returns the fetch argument for a value, with the type want or, if that is "", its own
// type.
func (e *evaluator) fetch(v value, want string) (ftrace.FetchArg, error) {
	a := ftrace.FetchArg{Name: v.name[:min(len(v.name), ftrace.MaxArgName)]}
	if v.kind == nowhere {
		return ftrace.FetchArg{}, e.fail(v.pos, "%s can't be fetched: %s", v.name, v.text)
	}
	v = unwrap(v)
	var err error
	base, _, isArray := strings.Cut(want, "[")
	switch {
	case want == "":
		a.Fetch, a.Type, err = v.own()
		a.Signed = v.width > 0 && v.typ.signed()
	case base == "string" || base == "ustring":
		a.Fetch, err = v.asText(isArray)
		a.Type = want
	case isArray:
		a.Fetch, err = v.asArray(want)
		a.Type = want
	default:
		a.Fetch, a.Type, err = v.as(want)
	}
	if err != nil {
		return ftrace.FetchArg{}, e.fail(v.pos, "%v", err)
	}
	if n := len(a.Fetch) + len(":") + len(a.Type); n > maxFetched {
		return ftrace.FetchArg{}, e.fail(v.pos, "%s:%s has %d characters, and the kernel takes no more than %d", a.Fetch, a.Type, n, maxFetched)
	}
	return a, nil
}

// unwrap replaces a struct with a single member, such as atomic_t or kuid_t, by that member.
func unwrap(v value) value {
	for range 8 {
		t := v.typ.t.Resolve()
		if !v.typ.isStruct() || t.Len() != 1 {
			return v
		}
		m := t.Member(0)
		size, _ := t.Size()
		if inner, ok := m.Type.Size(); !ok || inner != size || m.Bit != 0 || m.Width != 0 {
			return v
		}
		v.typ = ctype{t: m.Type}
	}
	return v
}

// own returns the fetch expression for a value with its own type.
func (v *value) own() (fetch, typ string, err error) {
	switch {
	case v.typ.isPointer() && (v.typ.isText() || v.kind == address && v.typ.elem().kind() == btf.Array && v.typ.elem().isText()):
		fetch, err = v.asText(false)
		if v.typ.tagged("user") || v.kind == address && v.user {
			return fetch, "ustring", err
		}
		return fetch, "string", err
	case v.typ.kind() == btf.Array:
		return v.ownArray()
	}
	if typ, err = v.typ.kernelType(); err != nil {
		return "", "", fmt.Errorf("%s is %w", v.name, err)
	}
	if v.width > 0 {
		return v.bits()
	}
	fetch, bits, err := v.scalar(8 * typeSize(typ))
	if bits != "" {
		typ = bits
	}
	return fetch, typ, err
}

// ownArray is own for an array: text, or elements of one size.
func (v *value) ownArray() (fetch, typ string, err error) {
	n := v.typ.t.Resolve().Len()
	if v.typ.isText() {
		fetch, err = v.asText(false)
		if v.user {
			return fetch, "ustring", err
		}
		return fetch, "string", err
	}
	elem := v.typ.elem()
	typ, err = elem.kernelType()
	switch {
	case err != nil:
		return "", "", fmt.Errorf("%s is an array of %w: name an element, as in %[1]s[0]", v.name, err)
	case n == 0:
		return "", "", fmt.Errorf("%s is an array whose length is not in its type: give a type, as in %[1]s:%[2]s[4], or name an element, %[1]s[0]", v.name, typ)
	case n > maxArray:
		return "", "", fmt.Errorf("%s has %d elements, and the kernel fetches %d at most: give a type, as in %[1]s:%[4]s[%[3]d], or name an element, %[1]s[0]", v.name, n, maxArray, typ)
	}
	typ += "[" + strconv.Itoa(n) + "]"
	fetch, err = v.place("an array")
	return fetch, typ, err
}

// kernelType returns the kernel's type for a number. The error says what the value is instead.
func (c ctype) kernelType() (string, error) {
	size, _ := c.size()
	switch kind := c.kind(); {
	case c.isPointer():
		if k := c.elem().kind(); k == btf.FuncProto || k == btf.Func {
			return "symbol", nil
		}
		return "x64", nil
	case kind == btf.Struct || kind == btf.Union:
		return "", fmt.Errorf("%s, whose members are %s", c, some(c.t.Resolve().FieldNames(9)))
	case kind == btf.Void:
		return "", fmt.Errorf("void, of which nothing is known: cast the pointer, as in ((struct sock *)x)->sk_family")
	case !c.isInteger() || size != 1 && size != 2 && size != 4 && size != 8:
		return "", fmt.Errorf("%s, which the kernel does not fetch", c)
	}
	letter := "u"
	switch {
	case c.signed() && !c.t.Resolve().Char():
		letter = "s"
	case c.bigEndian():
		letter = "x"
	}
	return letter + strconv.Itoa(int(8*size)), nil
}

// bigEndian reports whether a number is in network byte order, so that printing it in decimal
// is useless.
func (c ctype) bigEndian() bool {
	for _, name := range []string{"__be16", "__be32", "__be64", "__sum16", "__wsum"} {
		if c.stars == 0 && c.t.Qualified(btf.Typedef, name) {
			return true
		}
	}
	return false
}

// typeSize returns the size in bytes of a type such as u32, or 8 for a type without a number.
func typeSize(typ string) uint64 {
	bits, err := strconv.ParseUint(strings.TrimLeft(typ, "usx"), 10, 8)
	if err != nil {
		return 8
	}
	return bits / 8
}

// asText returns the fetch expression for text, or for an array of pointers to text.
func (v *value) asText(isArray bool) (string, error) {
	if size, _ := v.typ.size(); v.typ.isInteger() && v.width == 0 && size == 8 {
		// A number that may be an address.
		v.typ.stars++
	}
	if elem := v.typ.elem(); v.typ.kind() == btf.Array && !isArray && (!elem.isInteger() || !hasSize(elem, 1)) || v.typ.isStruct() || v.typ.isInteger() {
		return "", fmt.Errorf("%s is %s, and no text", v.name, v.typ)
	}
	return v.place("text")
}

func hasSize(c ctype, want uint64) bool {
	size, ok := c.size()
	return ok && size == want
}

// asArray returns the fetch expression for the array type want, which must not be larger than
// the value.
func (v *value) asArray(want string) (string, error) {
	base, rest, _ := strings.Cut(want, "[")
	n, err := strconv.ParseUint(strings.TrimSuffix(rest, "]"), 0, 16)
	if err != nil {
		return "", fmt.Errorf("%s is no type", want)
	}
	each := typeSize(base)
	if base == "char" {
		each = 1
	}
	size, ok := v.typ.size()
	if flexible := v.typ.kind() == btf.Array && v.typ.t.Resolve().Len() == 0; ok && !flexible && !v.typ.isPointer() && n*each > size {
		return "", fmt.Errorf("%s is %s, of %d bytes, and %s takes %d", v.name, v.typ, size, want, n*each)
	}
	return v.place("an array")
}

// as returns the fetch expression for a value with the scalar type want.
func (v *value) as(want string) (fetch, typ string, err error) {
	size, ok := v.typ.size()
	width := 8 * typeSize(want)
	if want == "char" {
		width = 8
	}
	if _, container, isBits := strings.Cut(want, "/"); isBits {
		width, _ = strconv.ParseUint(container, 0, 8)
	}
	switch {
	case v.typ.kind() == btf.Array && v.kind == inMemory:
		return "", "", fmt.Errorf("%s is an array (%s): name an element, as in %[1]s[0], or give a type such as %[3]s[2]", v.name, v.typ, want)
	case v.width > 0:
		return "", "", fmt.Errorf("%s is a bitfield of %d bits: leave its type to ringtap", v.name, v.width)
	case !ok:
		return "", "", fmt.Errorf("%s is %s, which has no value", v.name, v.typ)
	case width > 8*size && (want == "symbol" || want == "symstr"):
		return "", "", fmt.Errorf("%s is %s, and no address", v.name, v.typ)
	case width > 8*size:
		return "", "", fmt.Errorf("%s is %s, of %d bits, and %s takes %d", v.name, v.typ, 8*size, want, width)
	}
	fetch, bits, err := v.scalar(width)
	if bits != "" {
		return fetch, bits, err
	}
	return fetch, want, err
}
