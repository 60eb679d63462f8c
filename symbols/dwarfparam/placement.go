package dwarfparam

import "strings"

// piece is the location of some bytes of a value.
type piece struct {
	offset, size uint64 // in the value
	loc          Location
}

// placement is the location of a value in one or more pieces, or the reason why it is unknown.
type placement struct {
	pieces []piece
	why    string
}

func nowhere(why string) placement { return placement{why: why} }

// inOne places the whole value at loc.
func inOne(t *typ, loc Location) placement {
	return placement{pieces: []piece{{0, t.size, loc}}}
}

// known reports whether all pieces have a location.
func (p placement) known() bool {
	for _, piece := range p.pieces {
		if piece.loc.Where == Nowhere {
			return false
		}
	}
	return len(p.pieces) > 0
}

// inRegisters reports whether all pieces are in registers.
func (p placement) inRegisters() bool {
	for _, piece := range p.pieces {
		if piece.loc.Where != Register {
			return false
		}
	}
	return len(p.pieces) > 0
}

// contradicts reports whether two placements of one value cannot both be right.
func (p placement) contradicts(q placement) bool {
	if len(p.pieces) == 0 || len(q.pieces) == 0 {
		return false
	}
	x, y := p.pieces[0].loc, q.pieces[0].loc
	if x.Where == Nowhere || y.Where == Nowhere {
		return false
	}
	return x != y
}

// whole returns the location of the value if it is in one piece.
func (p placement) whole(t *typ) Location {
	switch {
	case len(p.pieces) == 1 && p.pieces[0].offset == 0 && p.pieces[0].size >= t.size:
		return p.pieces[0].loc
	case len(p.pieces) > 0:
		return Location{Why: "it is in several places: see its parts"}
	case p.why != "":
		return Location{Why: p.why}
	case t.size == 0 && t.class != classUnknown:
		return Location{Why: "a value of no bytes is nowhere"}
	}
	return Location{Why: "the compiler has not recorded where it is"}
}

// at returns the location of the size bytes at an offset in the value.
func (p placement) at(offset, size uint64) Location {
	for _, piece := range p.pieces {
		into := offset - piece.offset
		if into >= piece.size || size > piece.size-into {
			continue
		}
		loc := piece.loc
		switch loc.Where {
		case Register:
			loc.Bit += int(into) * 8
		case Stack, Memory:
			loc.Offset += int64(into)
		}
		return loc
	}
	if p.why != "" {
		return Location{Why: p.why}
	}
	return Location{Why: "the compiler has not recorded where it is"}
}

// maxParts is the maximum number of parts of a parameter.
const maxParts = 16

// parts lists the fields of a value that is not a single number.
func (r *reader) parts(t *typ, where placement) []Param {
	var leaves []field
	switch {
	case t.kind == Struct || t.kind == Text:
		leaves = r.appendLeaves(nil, t, 0, "", 0)
	case t.class == classInteger && len(where.pieces) == 2: // of 16 bytes
		half := &typ{kind: Unsigned, size: t.size / 2}
		leaves = []field{{name: "low", typ: half}, {name: "high", typ: half, offset: half.size}}
	}
	if len(leaves) > maxParts {
		return nil
	}
	var parts []Param
	for _, l := range leaves {
		parts = append(parts, Param{
			Name: l.name, Type: l.text, Kind: l.typ.kind, Size: int(min(l.typ.size, 1<<30)), Location: where.at(l.offset, l.typ.size),
		})
	}
	return parts
}

// fieldNames returns the usual field names of strings, slices and interfaces, which each
// compiler names differently.
func (r *reader) fieldNames(t *typ) []string {
	switch {
	case t.kind == Text:
		return []string{"ptr", "len"}
	case r.lang == langGo && t.goKind == goSlice:
		return []string{"ptr", "len", "cap"}
	case r.lang == langGo && t.goKind == goInterface:
		return []string{"type", "data"}
	case r.lang == langRust && strings.HasPrefix(t.name, "&[") || strings.HasPrefix(t.name, "&mut ["):
		return []string{"ptr", "len"}
	}
	return nil
}

// appendLeaves appends the numeric fields of t, including the fields of nested structs.
func (r *reader) appendLeaves(dst []field, t *typ, offset uint64, prefix string, depth int) []field {
	names := r.fieldNames(t)
	for i, f := range t.fields {
		if len(dst) > maxParts || depth > maxTypeDepth {
			break
		}
		if f.bits || f.typ.size == 0 {
			continue
		}
		f.offset += offset
		if len(names) == len(t.fields) {
			f.name = names[i]
		}
		switch {
		case f.name == "": // a base class or an unnamed struct
			f.name = prefix
		case prefix != "":
			f.name = prefix + "." + f.name
		}
		if f.typ.class == classAggregate && len(f.typ.fields) > 0 {
			dst = r.appendLeaves(dst, f.typ, f.offset, f.name, depth+1)
		} else {
			dst = append(dst, f)
		}
	}
	return dst
}
