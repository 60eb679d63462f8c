package kprobe

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/host/btf"
)

// ctype is a C type: one of the kernel's types, or a pointer to it that need not be in the type
// information.
type ctype struct {
	t     btf.Type
	stars int // number of pointers to t
}

func (c ctype) kind() btf.Kind {
	if c.stars > 0 {
		return btf.Pointer
	}
	return c.t.Resolve().Kind()
}

func (c ctype) isPointer() bool { return c.kind() == btf.Pointer }
func (c ctype) isStruct() bool  { k := c.kind(); return k == btf.Struct || k == btf.Union }
func (c ctype) isInteger() bool {
	k := c.kind()
	return k == btf.Int || k == btf.Enum || k == btf.Enum64
}

// elem returns the target of a pointer, or the element type of an array.
func (c ctype) elem() ctype {
	if c.stars > 0 {
		return ctype{c.t, c.stars - 1}
	}
	return ctype{t: c.t.Resolve().Target()}
}

func (c ctype) size() (uint64, bool) {
	if c.stars > 0 {
		return 8, true
	}
	return c.t.Size()
}

func (c ctype) signed() bool { return c.stars == 0 && c.t.Resolve().Signed() }

// tagged reports whether the target of a pointer has a type tag, such as __user's.
func (c ctype) tagged(tag string) bool {
	return c.isPointer() && c.elem().stars == 0 && c.elem().t.Qualified(btf.TypeTag, tag)
}

// isText reports whether an array, or the target of a pointer, is text. The kernel also uses
// unsigned char for text, but mostly if it is const (struct qstr); otherwise it is binary data.
// u8 and similar types are never text.
func (c ctype) isText() bool {
	pointer := c.isPointer()
	elem := c.elem()
	if elem.stars > 0 || !elem.t.Resolve().Char() || c.tagged("percpu") {
		return false
	}
	switch elem.t.Resolve().Name() {
	case "char":
		return true
	case "unsigned char":
		return pointer && elem.t.Qualified(btf.Const, "") && !elem.t.Qualified(btf.Typedef, "")
	}
	return false
}

func (c ctype) String() string {
	stars := strings.Repeat("*", c.stars)
	if k := c.t.Resolve().Kind(); stars != "" && (k == btf.Array || k == btf.FuncProto) {
		stars = "(" + stars + ")"
	}
	return c.t.Declare(stars)
}

type value struct {
	typ  ctype
	kind valueKind
	// text is in the kernel's syntax. It is the value if computed, else the address to which
	// offset is added. For nowhere, it is the reason.
	text   string
	offset int64    // in bytes; for inWords, from the first word
	user   bool     // the address is in the task's memory
	words  []string // for inWords

	// A bit field has a width, and starts bit bits after offset.
	bit, width uint32

	name string // of the last member, for the field of the event
	pos  int    // position of that member in the path
}

type valueKind int

const (
	nowhere  valueKind = iota
	computed           // the value is text
	inMemory           // the value is at address text + offset
	address            // the value is text + offset
	inWords            // at offset in a struct in registers or stack words
)

// deref returns the fetch expression for the memory at text + offset.
func deref(offset int64, text string, user bool) string {
	if user {
		if offset < 0 {
			return fmt.Sprintf("-u%d(%s)", -offset, text)
		}
		return fmt.Sprintf("+u%d(%s)", offset, text)
	}
	return fmt.Sprintf("%+d(%s)", offset, text)
}

// load returns the fetch expression for a value of 8 bytes.
func (v *value) load() (string, bool) {
	switch v.kind {
	case computed:
		return v.text, true
	case inMemory:
		return deref(v.offset, v.text, v.user), true
	case inWords:
		if i := v.offset / 8; v.offset%8 == 0 && 0 <= i && i < int64(len(v.words)) {
			return v.words[i], true
		}
	case address:
		return v.text, v.offset == 0
	}
	return "", false
}

// follow returns the target of a pointer, or the first element of an array, moved by index
// elements. The value must be a pointer or an array.
func (v value) follow(index int64) (value, error) {
	elem := v.typ.elem()
	size := uint64(0)
	if index != 0 {
		var ok bool
		if size, ok = elem.size(); !ok || size > 1<<30 {
			return v, fmt.Errorf("%s has no size by which elements could be counted", elem)
		}
	}
	distance := index * int64(size)
	out := v
	out.typ = elem
	switch {
	case v.kind == nowhere:
		return v, fmt.Errorf("%s can't be fetched: %s", v.name, v.text)
	case v.typ.kind() == btf.Array:
		out.offset += distance
		return out, nil
	case v.typ.tagged("percpu"):
		return v, fmt.Errorf("%s is a per-CPU pointer: what it leads to is elsewhere on each CPU, and the kernel can't fetch it", v.name)
	case v.kind == address:
		out.kind = inMemory
		out.offset += distance
		return out, nil
	}
	text, ok := v.load()
	if !ok {
		return v, fmt.Errorf("%s lies across two words, and the kernel can't put it together", v.name)
	}
	out.kind, out.text, out.offset, out.words = inMemory, text, distance, nil
	out.user = v.typ.tagged("user")
	return out, nil
}
