package kprobe

import (
	"fmt"
	"strconv"

	"github.com/ringtap/ringtap/internal/btf"
)

// param is a parameter of a function and where its value is at the function's
// first instruction.
type param struct {
	name string
	value
}

// convention is how many registers hold arguments (System V psABI for amd64,
// AAPCS64 for arm64). $argN counts them, and the words of the stack behind them.
type convention struct {
	arch      string
	registers int
	next      int // register
	stack     int // words that are taken
}

// place says where the parameters of a function type are. The kernel passes
// nothing in floating point registers.
func place(proto btf.Type, arch string) []param {
	c := convention{arch: arch, registers: 6}
	if arch == "arm64" {
		c.registers = 8
	} else if size, ok := proto.Target().Size(); ok && c.inMemory(proto.Target(), size) {
		c.next++ // holds the address for the result
	}
	var params []param
	for i := range proto.Len() {
		p := proto.Param(i)
		if i == proto.Len()-1 && p.Type.Kind() == btf.Void {
			break // the ... of a variadic function
		}
		name := p.Name
		if name == "" {
			name = "arg" + strconv.Itoa(i+1)
		}
		v := c.place(ctype{t: p.Type})
		v.name = name
		params = append(params, param{name, v})
	}
	return params
}

// place takes registers or words of the stack for a parameter.
func (c *convention) place(t ctype) value {
	size, ok := t.size()
	words := int((size + 7) / 8)
	switch {
	case !ok || size > 1<<16:
		return value{typ: t, kind: nowhere, text: "its size is not known"}
	case size == 0:
		return value{typ: t, kind: nowhere, text: "it is empty"}
	case t.isStruct() && c.inMemory(t.t, size):
		if c.arch == "arm64" {
			return value{typ: t, kind: inMemory, text: c.take(1, false)[0]}
		}
		v := value{typ: t, kind: inMemory, text: "$stack", offset: int64(8 * (1 + c.stack))}
		c.stack += words
		return v
	}
	texts := c.take(words, size == 16 && !t.isStruct())
	if t.isStruct() || words > 1 {
		return value{typ: t, kind: inWords, words: texts}
	}
	return value{typ: t, kind: computed, text: texts[0]}
}

// inMemory tells whether the caller passes a struct by its address (arm64) or on
// the stack (amd64).
func (c *convention) inMemory(t btf.Type, size uint64) bool {
	t = t.Resolve()
	if k := t.Kind(); k != btf.Struct && k != btf.Union {
		return false
	}
	return size > 16 || c.arch != "arm64" && isPacked(t, 4)
}

// take takes n words, all in registers or all on the stack. Even ones are
// aligned to a pair.
func (c *convention) take(n int, even bool) []string {
	var out []string
	if c.arch == "arm64" && even && c.next%2 != 0 {
		c.next++
	}
	if c.next+n <= c.registers {
		for range n {
			c.next++
			out = append(out, fmt.Sprintf("$arg%d", c.next))
		}
		return out
	}
	if c.arch == "arm64" {
		c.next = c.registers // no later parameter goes back to registers
	}
	if even && c.stack%2 != 0 {
		c.stack++
	}
	for range n {
		c.stack++
		out = append(out, fmt.Sprintf("$arg%d", c.registers+c.stack))
	}
	return out
}

// isPacked tells whether a struct has members that are not where their alignment
// would have them.
func isPacked(t btf.Type, depth int) bool {
	for i := range min(t.Len(), 16) { // of a struct of 16 bytes there are no more
		m := t.Member(i)
		inner := m.Type.Resolve()
		size, ok := inner.Size()
		switch k := inner.Kind(); {
		case m.Width > 0 || !ok:
		case k == btf.Struct || k == btf.Union:
			if depth > 0 && isPacked(inner, depth-1) {
				return true
			}
		case k != btf.Array && size > 0 && uint64(m.Bit)%(8*size) != 0:
			return true
		}
	}
	return false
}

// returned is what a function has returned.
func (e *evaluator) returned() value {
	t := ctype{t: e.result}
	v := value{typ: t, kind: computed, text: "$retval", name: "retval"}
	size, _ := t.size()
	c := convention{arch: e.arch}
	switch {
	case t.isStruct() && c.inMemory(t.t, size):
		v.kind = inMemory
		if e.arch == "arm64" {
			v.kind, v.text = nowhere, "its address is not kept until the function returns"
		}
	case t.isStruct() || size > 8:
		second := "%dx"
		if e.arch == "arm64" {
			second = "%x1"
		}
		v.kind, v.words = inWords, []string{"$retval", second}[:(size+7)/8]
	}
	return v
}
