package dwarfparam

import "github.com/ringtap/ringtap/internal/arch"

// placeAAPCS64 places arguments by the Procedure Call Standard for the Arm 64-bit Architecture
// (section 6.8.2). Values of at most 16 bytes are in consecutive registers; for larger ones, a
// register has their address. One to four equal floating-point numbers take one floating-point
// register each. The address of the result has its own register.
func placeAAPCS64(_ *typ, params []*typ) []placement {
	a := newArguments(&arch.ARM64.C)
	placed := make([]placement, len(params))
	for i, t := range params {
		if a.lost == "" && t.class == classUnknown {
			a.lost = "the convention for a parameter of its type, or of the one before it, is not known"
		}
		switch floats, same := homogeneous(t); {
		case a.lost != "":
			placed[i] = nowhere(a.lost)
		case t.byReference:
			placed[i] = a.reference(t)
		case same:
			placed[i] = a.armFloats(t, floats)
		case t.size > 16:
			placed[i] = a.reference(t)
		case t.size == 0:
		default:
			placed[i] = a.armWords(t)
		}
	}
	return placed
}

func (a *arguments) armFloats(t *typ, n int) placement {
	if n > a.floats {
		a.floats = 0
		return a.onStack(t)
	}
	a.floats -= n
	return inOne(t, Location{Why: whyFloat})
}

func (a *arguments) armWords(t *typ) placement {
	words := int(t.size+7) / 8
	if t.align >= 16 && len(a.general)%2 == 1 {
		a.general = a.general[1:] // must start with an even register
	}
	if words > len(a.general) {
		a.general = nil
		return a.onStack(t)
	}
	var p placement
	for i := range uint64(words) {
		p.pieces = append(p.pieces, piece{i * 8, min(8, t.size-i*8), a.word()})
	}
	return p
}

// homogeneous returns how many floating-point registers a value takes. ok is true if the value
// consists of one to four equal floating-point numbers.
func homogeneous(t *typ) (n int, ok bool) {
	var size uint64
	if !countFloats(t, &n, &size, 0) {
		return 0, false
	}
	return n, n >= 1 && n <= 4
}

func countFloats(t *typ, n *int, size *uint64, depth int) bool {
	switch {
	case depth > maxTypeDepth || *n > 4:
		return false
	case t.class == classFloat || t.class == classLongDouble || t.class == classVector && (t.size == 8 || t.size == 16):
		if *size != 0 && *size != t.size {
			return false
		}
		*size = t.size
		*n++
		return true
	case t.class == classComplex:
		*n++ // the imaginary part
		return countFloats(t.elem, n, size, depth+1)
	case t.class != classAggregate || t.union:
		return false
	}
	for range min(t.count, 5) {
		if t.elem != nil && !countFloats(t.elem, n, size, depth+1) {
			return false
		}
	}
	for _, f := range t.fields {
		if f.typ.size > 0 && (f.bits || !countFloats(f.typ, n, size, depth+1)) {
			return false
		}
	}
	return true
}
