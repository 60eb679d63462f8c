package pytable

// spec reads the PyType_Spec that begins at an address, if one does: name, sizes, flags and
// an array of slots.
func (r *reader) spec(at uint64) {
	word := r.file.Word
	sizes, flags, slots := word(at+8), word(at+specFlags), word(at+specSlots)
	basic, item := uint64(int64(int32(sizes))), uint64(int64(int32(sizes>>32)))
	if slots == 0 || word(at) == 0 || flags>>32 != 0 || !isSmall(basic) || !isSmall(item) || !r.file.Holds(slots) {
		return
	}
	if r.isModule(at - moduleDoc) {
		return // its text, size, methods and slots look alike
	}
	n := r.slotCount(slots)
	if n == 0 {
		return
	}
	owner, ok := r.name(word(at))
	if !ok {
		return
	}
	for i := range n {
		id, value := word(slots+i*slotSize), word(slots+i*slotSize+8)
		switch id {
		case slotMethods:
			r.methods(value, owner)
		case slotGetSet:
			r.getSets(value, owner)
		default:
			r.add(fact{addr: value, owner: owner, field: r.slots[id]})
		}
	}
}

// slotCount is the number of slots in an array, 0 if it is none: each has a number, none
// twice, one is of the type itself, and what has to be a function is one. Slots of modules
// look alike but have low numbers.
func (r *reader) slotCount(at uint64) uint64 {
	var seen [128]bool
	ofType := false
	for n := uint64(0); ; n++ {
		id, value := r.file.Word(at+n*slotSize), r.file.Word(at+n*slotSize+8)
		r.work--
		switch {
		case id == 0 && value == 0 && ofType:
			return n
		case id == 0 || id >= uint64(len(r.slots)) || seen[id]:
			return 0
		case r.slots[id] != unused && !r.isFunction(value):
			return 0
		}
		seen[id] = true
		ofType = ofType || id >= slotAlloc
	}
}

// class owns the functions that CPython puts into types for methods that are written in
// Python. No type has that name, which is a keyword.
const class = "class"

// slotdefs reads the array of struct wrapperbase that begins at an address, if it does: the
// text of the method, the offset in the type of a class, the function for it, and a wrapper.
func (r *reader) slotdefs(at uint64) {
	word := r.file.Word
	const getattr = 64 // the offset of tp_getattr, which is in the first two
	if r.typ.Addr == 0 || word(at+8) != getattr || word(at+16) != 0 || word(at+24) != 0 || !r.isText(word(at), "__getattribute__") {
		return
	}
	size := uint64(48)
	if !r.isText(word(at+size), "__getattr__") {
		size = 56 // before 3.12 there is a word for the name as an object
	}
	if !r.isText(word(at+size), "__getattr__") || word(at+size+8) != getattr {
		return
	}
	n, numbers := uint64(0), uint64(0)
	for ; word(at+n*size) != 0; n++ {
		r.work--
		if n == maxTable || !r.isFunction(word(at+n*size+16)) || !r.isFunction(word(at+n*size+24)) {
			return
		}
		if r.isText(word(at+n*size), "__add__") && numbers == 0 {
			numbers = word(at + n*size + 8) // sequences have one too, behind
		}
	}
	fields := classFields(numbers)
	for i := range n {
		if f := fields[word(at+i*size+8)]; f != "" {
			r.add(fact{addr: word(at + i*size + 16), owner: class, field: f})
		}
	}
}

// isText tells whether the text at an address is that one.
func (r *reader) isText(addr uint64, want string) bool {
	text, ok := r.file.Text(addr, len(want)+1)
	return ok && string(text) == want
}

// classFields are the fields of a PyHeapTypeObject: the type itself, and behind it the
// suites, numbers first but for one.
func classFields(numbers uint64) map[uint64]string {
	fields := map[uint64]string{}
	for _, f := range typeFields[:len(typeFields)-1] {
		fields[f.offset] = f.name
	}
	at := numbers
	for _, suite := range [][]string{numberFields(), mappingFields(), sequenceFields()} {
		for _, f := range suite {
			if numbers > typeFields[len(typeFields)-1].offset && f != unused {
				fields[at] = f
			}
			at += 8
		}
	}
	return fields
}
