package dwarfparam

import "github.com/ringtap/ringtap/internal/arch"

// eightbyte is the System V class of one word of a value of at most 16 bytes.
type eightbyte uint8

const (
	noClass eightbyte = iota
	integerClass
	sseClass
	memoryClass
)

// placeSysV places arguments by the System V psABI for amd64 (section 3.2.3). Values of at most
// two words are in registers, if there are enough for the whole value; others are on the stack,
// in order. C++ classes with non-trivial copies are passed by address.
func placeSysV(result *typ, params []*typ) []placement {
	a := newArguments(&arch.AMD64.C)
	if result != nil {
		switch classes, ok := classify(result); {
		case !ok:
			a.lost = "it is not known how the result is returned, which may take a register"
		case result.byReference || classes[0] == memoryClass && result.class != classLongDouble:
			a.word() // where to store the result
		}
	}
	placed := make([]placement, len(params))
	for i, t := range params {
		if a.lost != "" {
			placed[i] = nowhere(a.lost)
			continue
		}
		classes, ok := classify(t)
		switch {
		case !ok:
			a.lost = "the convention for a parameter of its type, or of the one before it, is not known"
			placed[i] = nowhere(a.lost)
		case t.byReference:
			placed[i] = a.reference(t)
		default:
			placed[i] = a.sysv(t, classes)
		}
	}
	return placed
}

func (a *arguments) sysv(t *typ, classes [2]eightbyte) placement {
	words, floats := 0, 0
	for _, c := range classes {
		switch c {
		case integerClass:
			words++
		case sseClass:
			floats++
		}
	}
	if t.class == classVector || t.class == classFloat && t.size == 16 {
		floats = min(floats, 1)
	}
	switch {
	case classes[0] == memoryClass, words > len(a.general), floats > a.floats:
		return a.onStack(t)
	case words+floats == 0:
		return placement{} // an empty class
	}
	if t.class == classVector || t.class == classFloat {
		return inOne(t, a.float())
	}
	var p placement
	for i, c := range classes {
		at := uint64(i) * 8
		if c == noClass || at >= t.size {
			continue
		}
		part := piece{offset: at, size: min(8, t.size-at)}
		if c == integerClass {
			part.loc = a.word()
		} else {
			part.loc = a.float()
		}
		p.pieces = append(p.pieces, part)
	}
	return p
}

// classify returns the classes of the two words of a type. ok is false if they are unknown.
func classify(t *typ) (classes [2]eightbyte, ok bool) {
	memory := [2]eightbyte{memoryClass, memoryClass}
	if t.class == classVector {
		return [2]eightbyte{sseClass, sseClass}, true
	}
	if t.size > 16 {
		return memory, t.class != classUnknown
	}
	if !classifyAt(t, 0, &classes, 0) {
		return classes, false
	}
	if classes[0] == memoryClass || classes[1] == memoryClass {
		return memory, true
	}
	return classes, true
}

// classifyAt merges the classes of a value at offset into classes.
func classifyAt(t *typ, offset uint64, classes *[2]eightbyte, depth int) bool {
	if depth > maxTypeDepth || offset >= 16 && t.size > 0 {
		return false
	}
	merge := func(c eightbyte, from, to uint64) {
		for at := from &^ 7; at < to && at < 16; at += 8 {
			classes[at/8] = mergeOf(classes[at/8], c)
		}
	}
	switch t.class {
	case classInteger:
		merge(integerClass, offset, offset+t.size)
	case classFloat, classVector:
		merge(sseClass, offset, offset+t.size)
	case classLongDouble:
		merge(memoryClass, offset, offset+t.size)
	case classComplex:
		return classifyAt(t.elem, offset, classes, depth+1) && classifyAt(t.elem, offset+t.elem.size, classes, depth+1)
	case classAggregate:
		for i := range min(t.count, 16) {
			if t.elem != nil && !classifyAt(t.elem, offset+i*t.elem.size, classes, depth+1) {
				return false
			}
		}
		for _, f := range t.fields {
			at := offset + f.offset
			switch {
			case f.bits:
				merge(integerClass, at, at+1)
			case f.typ.align > 0 && at%f.typ.align != 0 && f.typ.class != classUnknown:
				merge(memoryClass, offset, offset+t.size) // packed
			case !classifyAt(f.typ, at, classes, depth+1):
				return false
			}
		}
	default:
		return false
	}
	return true
}

// mergeOf returns the class of a word that two fields share.
func mergeOf(x, y eightbyte) eightbyte {
	switch {
	case x == memoryClass || y == memoryClass:
		return memoryClass
	case x == integerClass || y == integerClass:
		return integerClass
	}
	return max(x, y)
}
