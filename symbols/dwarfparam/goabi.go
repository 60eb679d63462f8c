package dwarfparam

// Kinds of Go types in DW_AT_go_kind (package reflect).
const (
	goInterface = 20
	goSlice     = 23
	goString    = 24
)

// placeGo places arguments as Go does since 1.17 (cmd/compile/abi-internal.md). Each word of a
// value is in its own register, if there are enough registers for the whole value. Values that
// do not fit, and values with an array of more than one element, are on the stack. The receiver
// is the first argument.
func (r *reader) placeGo(_ *typ, params []*typ) []placement {
	m := r.architecture()
	a := &arguments{general: m.Go.Arguments, floats: m.Go.Floats, perSlot: 1}
	if m.LR != nil {
		a.stack = 8 // above the place of the return address
	}
	placed := make([]placement, len(params))
	for i, t := range params {
		if a.lost == "" && t.class == classUnknown {
			a.lost = "the layout of its type, or of the one before it, is not known"
		}
		if a.lost != "" {
			placed[i] = nowhere(a.lost)
			continue
		}
		before := *a
		var p placement
		if !a.goValue(&p, t, 0, 0) {
			*a = before
			p = a.onStack(t)
		}
		placed[i] = p
	}
	return placed
}

// goValue assigns registers to a value. It returns false if there are not enough, or if the
// value must be on the stack.
func (a *arguments) goValue(p *placement, t *typ, offset uint64, depth int) bool {
	switch {
	case depth > maxTypeDepth || len(p.pieces) > maxParts:
		return false
	case t.size == 0:
		return true
	case t.class == classInteger && len(a.general) > 0 && t.size <= 8:
		p.pieces = append(p.pieces, piece{offset, t.size, a.word()})
		return true
	case t.class == classFloat && a.floats > 0:
		p.pieces = append(p.pieces, piece{offset, t.size, a.float()})
		return true
	case t.class == classComplex && a.floats > 1:
		return a.goValue(p, t.elem, offset, depth+1) && a.goValue(p, t.elem, offset+t.elem.size, depth+1)
	case t.class != classAggregate || t.elem != nil && t.count > 1:
		return false
	}
	if t.elem != nil && t.count == 1 {
		return a.goValue(p, t.elem, offset, depth+1)
	}
	for _, f := range t.fields {
		if !a.goValue(p, f.typ, offset+f.offset, depth+1) {
			return false
		}
	}
	return true
}
