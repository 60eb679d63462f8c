package dwarfparam

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/arch"
)

// placeRust places arguments as rustc does (its fn_abi, which may change). One number, or a
// newtype of one, is in a register; two numbers (a fat pointer) are in two. Larger aggregates
// are passed by address if they exceed two words, and other aggregates of one word are in a
// register. Any other value, or an enum with fields, depends on the compiler's layout; after
// one, no location is known.
func (r *reader) placeRust(result *typ, params []*typ) []placement {
	m := r.architecture()
	a := newArguments(&m.C)
	if result != nil && m == arch.AMD64 {
		switch leaves, simple := rustNumbers(result); {
		case result.size > 16 && !(simple && len(leaves) <= 2):
			a.word() // where to store the result
		case result.size > 8 && !(simple && len(leaves) <= 2) && !r.rustReturnsWords():
			a.lost = "it is not known how the result is returned, which may take a register"
		}
	}
	placed := make([]placement, len(params))
	for i, t := range params {
		if a.lost != "" {
			placed[i] = nowhere(a.lost)
			continue
		}
		placed[i] = a.rust(t)
	}
	return placed
}

// rustReturnsWords reports whether the compiler returns all values of two words in registers:
// rustc does so since 1.80.
func (r *reader) rustReturnsWords() bool {
	_, version, ok := strings.Cut(r.fn.Producer(), "rustc version 1.")
	minor, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(minor)
	return ok && err == nil && n >= 80
}

func (a *arguments) rust(t *typ) placement {
	numbers, simple := rustNumbers(t)
	switch {
	case t.class != classUnknown && t.size == 0:
		return placement{}
	case simple && len(numbers) <= 2:
		var p placement
		for _, f := range numbers {
			part := piece{f.offset, f.typ.size, Location{}}
			switch {
			case f.typ.class == classFloat && a.floats > 0:
				part.loc = a.float()
			case f.typ.class == classInteger && len(a.general) > 0:
				part.loc = a.word()
			default:
				part.loc = a.onStack(f.typ).pieces[0].loc
			}
			p.pieces = append(p.pieces, part)
		}
		return p
	case t.class == classAggregate && t.size > 16:
		return a.reference(t)
	case t.class == classAggregate && t.size <= 8 && !t.variants && !t.union:
		if len(a.general) > 0 {
			return inOne(t, a.word())
		}
		return a.onStack(t)
	}
	a.lost = "how it, or the parameter before it, is passed depends on its layout in the compiler"
	return nowhere(a.lost)
}

// rustNumbers returns the numeric fields of a value, in the order of their offsets. simple is
// false if it has other fields. Three fields are returned at most, which is already too many.
func rustNumbers(t *typ) (numbers []field, simple bool) {
	switch {
	case t.class == classInteger && t.size == 16:
		half := &typ{kind: Unsigned, class: classInteger, size: 8, align: 8}
		return []field{{typ: half}, {typ: half, offset: 8}}, true
	case t.class == classInteger || t.class == classFloat:
		return []field{{typ: t}}, true
	}
	return appendRustNumbers(nil, t, 0, 0)
}

func appendRustNumbers(dst []field, t *typ, offset uint64, depth int) ([]field, bool) {
	if t.class != classAggregate || t.variants || t.union || t.elem != nil || depth > maxTypeDepth {
		return nil, false
	}
	for _, f := range t.fields {
		f.offset += offset
		switch {
		case f.typ.size == 0:
		case (f.typ.class == classInteger || f.typ.class == classFloat) && f.typ.size <= 8:
			at := len(dst)
			for at > 0 && dst[at-1].offset > f.offset {
				at--
			}
			dst = append(dst[:at], append([]field{f}, dst[at:]...)...)
		default:
			var ok bool
			if dst, ok = appendRustNumbers(dst, f.typ, f.offset, depth+1); !ok {
				return nil, false
			}
		}
		if len(dst) > 2 {
			return dst, true
		}
	}
	return dst, true
}
