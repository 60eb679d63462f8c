package kprobe

import (
	"fmt"
	"strconv"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/host/btf"
)

// param is a parameter of a function, and the location of its value at the first instruction.
type param struct {
	name string
	value
}

// convention assigns locations to arguments by the machine's C convention. $argN counts the
// argument registers first, and then the words of the stack.
type convention struct {
	machine *arch.Machine
	next    int // next register
	stack   int // words used so far
}

// place returns the locations of a function type's parameters on machine m. The kernel passes
// nothing in floating-point registers.
func place(proto btf.Type, m *arch.Machine) []param {
	c := convention{machine: m}
	if size, ok := proto.Target().Size(); m != arch.ARM64 && ok && c.inMemory(proto.Target(), size) {
		c.next++ // has the address for the result
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

// place assigns registers or stack words to a parameter.
func (c *convention) place(t ctype) value {
	size, ok := t.size()
	words := int((size + 7) / 8)
	switch {
	case !ok || size > 1<<16:
		return value{typ: t, kind: nowhere, text: "its size is not known"}
	case size == 0:
		return value{typ: t, kind: nowhere, text: "it is empty"}
	case t.isStruct() && c.inMemory(t.t, size):
		if c.machine == arch.ARM64 {
			return value{typ: t, kind: inMemory, text: c.take(1, false)[0]}
		}
		v := value{typ: t, kind: inMemory, text: "$stack", offset: int64(c.machine.CallPushes + 8*c.stack)}
		c.stack += words
		return v
	}
	texts := c.take(words, size == 16 && !t.isStruct())
	if t.isStruct() || words > 1 {
		return value{typ: t, kind: inWords, words: texts}
	}
	return value{typ: t, kind: computed, text: texts[0]}
}

// inMemory reports whether the caller passes a struct by address (arm64) or on the stack
// (amd64).
func (c *convention) inMemory(t btf.Type, size uint64) bool {
	t = t.Resolve()
	if k := t.Kind(); k != btf.Struct && k != btf.Union {
		return false
	}
	return size > 16 || c.machine != arch.ARM64 && isPacked(t, 4)
}

// take assigns n words, all in registers or all on the stack. If even is true, they start at an
// even word (arm64).
func (c *convention) take(n int, even bool) []string {
	var out []string
	if c.machine == arch.ARM64 && even && c.next%2 != 0 {
		c.next++
	}
	registers := len(c.machine.C.Arguments)
	if c.next+n <= registers {
		for range n {
			c.next++
			out = append(out, fmt.Sprintf("$arg%d", c.next))
		}
		return out
	}
	if c.machine == arch.ARM64 {
		c.next = registers // later parameters do not use registers again
	}
	if even && c.stack%2 != 0 {
		c.stack++
	}
	for range n {
		c.stack++
		out = append(out, fmt.Sprintf("$arg%d", registers+c.stack))
	}
	return out
}

// isPacked reports whether a struct has members that are not aligned.
func isPacked(t btf.Type, depth int) bool {
	for i := range min(t.Len(), 16) { // a struct of 16 bytes has no more
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

func (e *evaluator) returned() value {
	t := ctype{t: e.result}
	v := value{typ: t, kind: computed, text: "$retval", name: "retval"}
	size, _ := t.size()
	c := convention{machine: e.machine}
	switch {
	case t.isStruct() && c.inMemory(t.t, size):
		v.kind = inMemory
		if e.machine == arch.ARM64 {
			v.kind, v.text = nowhere, "its address is not kept until the function returns"
		}
	case t.isStruct() || size > 8:
		v.kind, v.words = inWords, []string{"$retval", "%" + e.machine.C.Results[1].Name}[:(size+7)/8]
	}
	return v
}
