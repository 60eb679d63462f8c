package live

import (
	"strings"

	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
	"github.com/ringtap/ringtap/uprobe"
)

// Named returns a type that the debug information of the file of an attach point has under a name, first
// where it describes the probed function; nil if there is none.
func (u *ProgramTypes) Named(p *syntax.AttachPoint, name string) *types.Type {
	if len(p.Args) < 2 || strings.ContainsAny(p.Args[0], "*?[") {
		return nil
	}
	function := p.Args[len(p.Args)-1]
	key := p.Args[0] + "\x00" + function + "\x00" + name
	t, ok := u.named[key]
	if !ok {
		if found, has := uprobe.FindType(p.Args[0], uprobe.Options{}, function, name); has {
			t = u.convert(found)
		}
		u.named[key] = t
	}
	return t
}

// convert returns a type of a program. Types may lead back to themselves.
func (u *ProgramTypes) convert(from *symbols.Type) *types.Type {
	if t := u.converted[from]; t != nil {
		return t
	}
	t := &types.Type{Size: from.Size}
	u.converted[from] = t
	switch from.Kind {
	case dwarfparam.Signed, dwarfparam.Unsigned, dwarfparam.Char, dwarfparam.Enum:
		*t = *integer(from.Size, from.Kind != dwarfparam.Unsigned)
		if from.Size > 8 {
			*t = *opaque(from.Size)
		}
	case dwarfparam.Bool:
		*t = *types.Truth
	case dwarfparam.Pointer:
		*t = types.Type{Kind: types.Pointer, Size: 8, Elem: types.Void, User: true}
		if from.Elem != nil {
			t.Elem = u.convert(from.Elem)
		}
	case dwarfparam.Array:
		*t = types.Type{Kind: types.Array, Size: from.Size, Elem: u.convert(from.Elem), Len: from.Len}
	case dwarfparam.Struct:
		u.members(t, from)
	case dwarfparam.Float:
		*t = *opaque(from.Size)
	}
	return t
}

// opaque is a value that nothing computes with, as bytes.
func opaque(size int) *types.Type {
	return &types.Type{Kind: types.Array, Size: size, Elem: types.Uint8, Len: size}
}

func (u *ProgramTypes) members(t *types.Type, from *symbols.Type) {
	*t = types.Type{Kind: types.Struct, Name: "struct " + from.Name, Size: from.Size, Fields: []types.Field{}}
	if from.Union {
		t.Name = "union " + from.Name
	}
	for _, m := range from.Members {
		f := types.Field{Name: m.Name, Type: u.convert(m.Type), Offset: m.Bit / 8}
		if f.Name == "" && f.Type.Kind != types.Struct {
			continue
		}
		if m.Bits > 0 {
			f.BitOffset, f.Bits = m.Bit%8, m.Bits
			if unit := 8 * f.Type.Size; unit > 0 && m.Bit/unit == (m.Bit+m.Bits-1)/unit {
				f.Offset, f.BitOffset = m.Bit/unit*f.Type.Size, m.Bit%unit
			}
		}
		t.Fields = append(t.Fields, f)
	}
}
