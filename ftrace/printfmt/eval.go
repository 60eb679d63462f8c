package printfmt

import (
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// value is the result of an expression for one record. It is a number, extended to 64 bits; or
// memory: the bytes at an address in the record or in a constant string; or unknown, if the
// record does not have it.
type value struct {
	kind   valueKind
	number uint64
	typ    cexpr.Type // of the number, or of the elements in memory
	memory []byte     // from the address to the end of the readable bytes
}

type valueKind uint8

const (
	unknown valueKind = iota
	number
	memory
)

func numberOf(v uint64, t cexpr.Type) value { return value{kind: number, number: t.Convert(v), typ: t} }

// truth returns the value as a condition; ok is false if it is unknown.
func (v value) truth() (yes, ok bool) {
	return v.kind == memory || v.number != 0, v.kind != unknown
}

type node interface {
	eval(raw []byte) value
}

// texter is a node that generates text, like the kernel's __print_… helpers. Its eval returns
// unknown.
type texter interface {
	node
	appendText(dst, raw []byte) []byte
}

type constant struct{ v value }

func (n *constant) eval([]byte) value { return n.v }

// fieldNode is REC->name or, if data is set, __get_dynamic_array(name).
type fieldNode struct {
	field *ftrace.Field
	typ   cexpr.Type // of the integer or the elements
	data  bool
	index int // of the string in an array of strings
}

func (n *fieldNode) eval(raw []byte) value {
	f := n.field
	if n.data {
		if b, ok := f.Data(raw, n.index); ok {
			return value{kind: memory, memory: b, typ: n.typ}
		}
		return value{}
	}
	b, ok := f.Stored(raw)
	if !ok {
		return value{}
	}
	if !f.Array {
		if v, ok := f.Load(b); ok {
			return numberOf(v, n.typ)
		}
	}
	return value{kind: memory, memory: b, typ: n.typ}
}

// addressNode is &REC->name.
type addressNode struct{ field *ftrace.Field }

func (n *addressNode) eval(raw []byte) value {
	b, ok := n.field.Stored(raw)
	if !ok {
		return value{}
	}
	return value{kind: memory, memory: b, typ: cexpr.Byte}
}

// lengthNode is __get_dynamic_array_len(name).
type lengthNode struct{ field *ftrace.Field }

func (n *lengthNode) eval(raw []byte) value {
	// The word with the array's position has the length in its upper half.
	b, _ := n.field.Stored(raw)
	word, ok := cexpr.Load(b, 4)
	if !ok {
		return value{}
	}
	return numberOf(word>>16, cexpr.UInt)
}

type castNode struct {
	typ cexpr.Type
	arg node
}

func (n *castNode) eval(raw []byte) value {
	v := n.arg.eval(raw)
	switch v.kind {
	case number:
		return numberOf(v.number, n.typ)
	case memory:
		if !n.typ.Pointer || n.typ.Element == nil {
			return value{} // an address in the ring buffer is unknown outside the kernel
		}
		v.typ = *n.typ.Element
	}
	return v
}

// indexNode is array[index] or, if index is nil, *array.
type indexNode struct{ array, index node }

func (n *indexNode) eval(raw []byte) value {
	at := n.address(raw)
	v, ok := cexpr.Load(at.memory, at.typ.Size)
	if !ok {
		return value{}
	}
	return numberOf(v, at.typ)
}

// address returns the memory from the element on.
func (n *indexNode) address(raw []byte) value {
	array, at := n.array.eval(raw), uint64(0)
	if n.index != nil {
		v := n.index.eval(raw)
		if v.kind != number {
			return value{}
		}
		at = v.number
	}
	size := array.typ.Size
	if array.kind != memory || size <= 0 || at >= uint64(len(array.memory)/size) {
		return value{}
	}
	array.memory = array.memory[int(at)*size:]
	return array
}

// elementAddressNode is &array[index].
type elementAddressNode struct{ element *indexNode }

func (n *elementAddressNode) eval(raw []byte) value { return n.element.address(raw) }

type unaryNode struct {
	op  byte // - ~ !
	arg node
}

func (n *unaryNode) eval(raw []byte) value {
	v := n.arg.eval(raw)
	if n.op == '!' {
		yes, ok := v.truth()
		return boolean(!yes, ok)
	}
	if v.kind != number {
		return value{}
	}
	if n.op == '-' {
		return numberOf(-v.number, v.typ.Promote())
	}
	return numberOf(^v.number, v.typ.Promote())
}

func boolean(yes, ok bool) value {
	switch {
	case !ok:
		return value{}
	case yes:
		return numberOf(1, cexpr.Int)
	}
	return numberOf(0, cexpr.Int)
}

// conditionNode is condition ? yes : no. Either branch may be a texter, so it is one, too.
type conditionNode struct{ condition, yes, no node }

func (n *conditionNode) choose(raw []byte) node {
	yes, ok := n.condition.eval(raw).truth()
	switch {
	case !ok:
		return &unknownNode
	case yes:
		return n.yes
	}
	return n.no
}

func (n *conditionNode) eval(raw []byte) value { return n.choose(raw).eval(raw) }

var unknownNode constant
