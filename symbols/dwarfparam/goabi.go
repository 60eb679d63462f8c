package dwarfparam

import "debug/elf"

// Kinds of Go's types in DW_AT_go_kind (package reflect).
const (
	goInterface = 20
	goSlice     = 23
	goString    = 24
)

// placeGo places arguments as Go does since 1.17 (cmd/compile/abi-internal.md):
// each word of a value in a register of its own, if there are enough for all of
// the value; a value with an array of more than one element, and what does not
// fit, on the stack. The receiver is the first argument.
func (r *reader) placeGo(_ *typ, params []*typ) []placement {
	a := &arguments{general: []int{0, 3, 2, 5, 4, 8, 9, 10, 11}, floats: 15, perSlot: 1}
	if r.Machine == elf.EM_AARCH64 {
		a.general, a.floats = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 16
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

// goValue assigns registers to a value; false when there are not enough, or it
// must not be in registers.
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
