package ctypes

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/host/btf"
)

// BTF is a Kernel backed by BTF type information. Only one goroutine may use it at a time.
type BTF struct {
	specs     []*btf.Spec
	known     map[btf.Type]ctype       // structs and unions with their fields
	partial   map[*types.Type]btf.Type // kernel types of the structs without fields
	shells    map[btf.Type]*types.Type // structs without fields, by kernel type
	named     map[string]found
	constants map[string]foundConstant
}

type found struct {
	ctype
	ok bool
}

type foundConstant struct {
	constant
	ok bool
}

// NewBTF returns the kernel's types. The first of specs is the kernel's, the others are those of
// modules.
func NewBTF(specs ...*btf.Spec) *BTF {
	return &BTF{
		specs: specs,
		known: map[btf.Type]ctype{}, partial: map[*types.Type]btf.Type{}, shells: map[btf.Type]*types.Type{},
		named: map[string]found{}, constants: map[string]foundConstant{},
	}
}

// Type returns the type called name.
func (b *BTF) Type(name string) (t *types.Type, align int, ok bool) {
	f, seen := b.named[name]
	if !seen {
		if kernel, ok := b.find(name); ok {
			f = found{b.convert(kernel, 0), true}
		}
		b.named[name] = f
	}
	return f.Type, f.align, f.ok
}

func (b *BTF) find(name string) (btf.Type, bool) {
	kinds := []btf.Kind{btf.Typedef}
	word, rest, ok := strings.Cut(name, " ")
	if !ok {
		rest = name
	}
	switch {
	case ok && word == "struct":
		kinds = []btf.Kind{btf.Struct}
	case ok && word == "union":
		kinds = []btf.Kind{btf.Union}
	case ok && word == "enum":
		kinds = []btf.Kind{btf.Enum, btf.Enum64}
	case ok:
		return btf.Type{}, false
	}
	for _, spec := range b.specs {
		for _, kind := range kinds {
			for t := range spec.Find(kind, rest) {
				return t, true
			}
		}
	}
	return btf.Type{}, false
}

// Constant returns a constant of the first enum that has one called name.
func (b *BTF) Constant(name string) (value int64, t *types.Type, ok bool) {
	f, seen := b.constants[name]
	if !seen {
		f = b.findConstant(name)
		b.constants[strings.Clone(name)] = f
	}
	return f.value, f.t, f.ok
}

func (b *BTF) findConstant(name string) foundConstant {
	for _, spec := range b.specs {
		for t := range spec.Types() {
			if k := t.Kind(); k != btf.Enum && k != btf.Enum64 {
				continue
			}
			for i := range t.Len() {
				if is, value := t.Enumerator(i); is == name {
					return foundConstant{constant{value, b.convert(t, 0).Type}, true}
				}
			}
		}
	}
	return foundConstant{}
}

// Complete returns a kernel struct with its fields.
func (b *BTF) Complete(t *types.Type) (*types.Type, bool) {
	kernel, ok := b.partial[t]
	if !ok {
		return nil, false
	}
	return b.structure(kernel, 0).Type, true
}

// Convert returns the type of an argument or result of a kernel function.
func (b *BTF) Convert(t btf.Type) *types.Type { return b.convert(t, 0).Type }

// maxNesting bounds types within types, so that cyclic type information ends.
const maxNesting = 32

func (b *BTF) convert(t btf.Type, depth int) ctype {
	user := t.Qualified(btf.TypeTag, "user")
	t = t.Resolve()
	if depth > maxNesting {
		return ctype{types.Void, 1}
	}
	size, _ := t.Size()
	switch t.Kind() {
	case btf.Int:
		return number(t, int(size))
	case btf.Enum, btf.Enum64:
		e := &types.Type{Kind: types.Int, Size: int(size), Signed: t.Signed()}
		if t.Name() != "" {
			e.Name = "enum " + strings.Clone(t.Name())
		}
		return plain(e)
	case btf.Float:
		return blob(int(size), max(int(size), 1))
	case btf.Pointer:
		target := t.Target()
		p := &types.Type{Kind: types.Pointer, Size: 8, User: user || target.Qualified(btf.TypeTag, "user")}
		switch to := target.Resolve(); to.Kind() {
		case btf.Struct, btf.Union, btf.Forward:
			p.Elem = b.shell(to)
		case btf.FuncProto:
			p.Elem = types.Void
		default:
			p.Elem = b.convert(target, depth+1).Type
		}
		return plain(p)
	case btf.Array:
		elem := b.convert(t.Target(), depth+1)
		return ctype{&types.Type{Kind: types.Array, Size: int(size), Elem: elem.Type, Len: t.Len()}, elem.align}
	case btf.Struct, btf.Union:
		return b.structure(t, depth)
	case btf.Forward:
		return ctype{b.shell(t), 1}
	}
	return ctype{types.Void, 1}
}

// number returns an integer type of C. char is signed, as in bpftrace programs.
func number(t btf.Type, size int) ctype {
	switch {
	case t.Bool():
		return plain(types.Truth)
	case t.Name() == "char":
		return plain(types.Int8)
	}
	if n := types.Integer(size, t.Signed()); n.Size == size {
		return plain(n)
	}
	return blob(size, max(size, 1))
}

// shell returns a struct without its fields.
func (b *BTF) shell(t btf.Type) *types.Type {
	if s, ok := b.shells[t]; ok {
		return s
	}
	size, _ := t.Size()
	s := &types.Type{Kind: types.Struct, Name: structName(t), Size: int(size)}
	b.shells[t] = s
	if t.Kind() != btf.Forward {
		b.partial[s] = t
	}
	return s
}

func structName(t btf.Type) string {
	word := "struct "
	if t.IsUnion() {
		word = "union "
	}
	if t.Name() == "" {
		return word + "(anonymous " + strconv.FormatUint(uint64(t.ID()), 10) + ")"
	}
	return word + strings.Clone(t.Name())
}

// structure returns a struct with its fields. BTF does not contain a struct's alignment. structure
// takes the largest alignment of a member that fits the member's offset and the struct's size.
func (b *BTF) structure(t btf.Type, depth int) ctype {
	if c, ok := b.known[t]; ok {
		return c
	}
	size, _ := t.Size()
	s := &types.Type{Kind: types.Struct, Name: structName(t), Size: int(size), Fields: make([]types.Field, 0, t.Len())}
	b.known[t] = ctype{s, 1} // ends cycles
	align := 1
	for i := range t.Len() {
		m := t.Member(i)
		c := b.convert(m.Type, depth+1)
		f := types.Field{Name: strings.Clone(m.Name), Type: c.Type, Offset: int(m.Bit / 8)}
		if f.Name == "" && c.Kind != types.Struct {
			continue
		}
		if m.Width > 0 {
			f.SetBits(int(m.Bit), int(m.Width))
		}
		if f.Offset%c.align == 0 {
			align = max(align, c.align)
		}
		s.Fields = append(s.Fields, f)
	}
	for align > 1 && s.Size%align != 0 {
		align /= 2
	}
	c := ctype{s, align}
	b.known[t] = c
	return c
}
