package live

import (
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
	"github.com/ringtap/ringtap/uprobe"
)

// Named returns the type with this name from the debug information of an attach point's file, or nil if there
// is none. It looks first in the part that describes the probed function.
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

// convert converts a type of a program. Types may contain pointers to themselves.
func (u *ProgramTypes) convert(from *symbols.Type) *types.Type {
	if t := u.converted[from]; t != nil {
		return t
	}
	t := &types.Type{Size: from.Size}
	u.converted[from] = t
	switch from.Kind {
	case dwarfparam.Signed, dwarfparam.Unsigned, dwarfparam.Char, dwarfparam.Enum:
		*t = *types.Integer(from.Size, from.Kind != dwarfparam.Unsigned)
		if from.Size > 8 {
			*t = *types.Opaque(from.Size)
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
		*t = *types.Opaque(from.Size)
	}
	return t
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
			f.SetBits(m.Bit, m.Bits)
		}
		t.Fields = append(t.Fields, f)
	}
}
