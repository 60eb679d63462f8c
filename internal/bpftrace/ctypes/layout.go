package ctypes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// structure returns the layout of a struct or union that the program defines.
func (s *Scope) structure(d *syntax.StructDef) (ctype, *syntax.Error) {
	if c, ok := s.done[d.Name]; ok {
		if c.align == 0 {
			return c, errorf(d.Pos, "%s contains itself", d.Name)
		}
		return c, nil
	}
	t := s.shell(d.Name)
	s.done[d.Name] = ctype{t, 0} // until it is laid out
	l := layout{union: d.Union, packed: d.Packed, align: 1, arm64: s.arm64}
	t.Fields = []types.Field{}
	for i := range d.Fields {
		f := &d.Fields[i]
		c, err := s.resolve(f.Type, 0)
		if err == nil {
			err = check(f, c)
		}
		if err != nil {
			s.done[d.Name] = ctype{t, 1}
			return ctype{}, err
		}
		l.add(f, c, t)
	}
	l.align = max(l.align, d.Align)
	size := alignUp(l.size, 8*l.align) / 8
	if size > maxSize {
		s.done[d.Name] = ctype{t, 1}
		return ctype{}, errorf(d.Pos, "%s is too large", d.Name)
	}
	t.Size = size
	c := ctype{t, l.align}
	s.done[d.Name] = c
	return c, nil
}

// check returns what is wrong with a member, or nil.
func check(f *syntax.FieldDef, c ctype) *syntax.Error {
	switch {
	case c.Kind == types.None:
		return errorf(f.Pos, "a member can't be void")
	case c.Kind != types.Int && c.Kind != types.Bool && f.Bits > 0:
		return errorf(f.Pos, "only integers can be bit fields")
	case f.Bits > 8*c.Size:
		return errorf(f.Pos, "the bit field %s has %d bits, more than its type", f.Name, f.Bits)
	case c.Size == 0 && (c.Kind != types.Array && c.Kind != types.Struct):
		return errorf(f.Pos, "a member of a struct can't be of type %s", f.Type.Base)
	}
	return nil
}

// layout places members one after another. size is in bits.
type layout struct {
	union  bool
	packed bool
	arm64  bool
	size   int
	align  int // in bytes
}

// add places a member.
func (l *layout) add(f *syntax.FieldDef, c ctype, t *types.Type) {
	at := l.size
	if l.union {
		at = 0
	}
	isBits := f.Bits > 0 || f.Name == "" && c.Kind != types.Struct
	align := c.align
	if l.packed || f.Packed {
		align = 1
	}
	align = max(align, f.Align)
	var end int
	switch {
	case !isBits:
		at = alignUp(at, 8*align)
		end = at + 8*c.Size
		l.align = max(l.align, align)
	case f.Bits == 0: // the next bit field starts a new unit
		end = alignUp(at, 8*max(c.align, f.Align))
		if l.arm64 {
			l.align = max(l.align, c.align)
		}
	default:
		if f.Align > 0 {
			at = alignUp(at, 8*f.Align)
		}
		if unit := 8 * c.Size; !l.packed && !f.Packed && at/unit != (at+f.Bits-1)/unit {
			at = alignUp(at, unit)
		}
		end = at + f.Bits
		if f.Name != "" || l.arm64 {
			l.align = max(l.align, align)
		}
	}
	l.size = max(l.size, end)
	if f.Name == "" && isBits {
		return
	}
	field := types.Field{Name: f.Name, Type: c.Type, Offset: at / 8}
	if isBits {
		field.SetBits(at, f.Bits)
	}
	t.Fields = append(t.Fields, field)
}

func alignUp(n, to int) int { return (n + to - 1) / to * to }

// errIncomplete is returned for a struct whose members are not known.
var errIncomplete = errors.New("its members are not known")

// Offsetof returns the offset in bytes of a member of t. Each element of path is a member of the
// struct before it.
func (s *Scope) Offsetof(t *types.Type, path []string) (int, error) {
	offset := 0
	for i, name := range path {
		t = s.Complete(t)
		if t.Kind != types.Struct {
			return 0, fmt.Errorf("%s is no struct or union", strings.Join(path[:i], "."))
		}
		if t.Fields == nil {
			return 0, fmt.Errorf("%s: %w", t.Name, errIncomplete)
		}
		f, ok := t.Member(name)
		if !ok {
			return 0, fmt.Errorf("%s has no member %s", t.Name, name)
		}
		if f.Bits > 0 {
			return 0, fmt.Errorf("%s is a bit field, which has no offset in bytes", name)
		}
		offset += f.Offset
		t = f.Type
	}
	return offset, nil
}
