package pytable

// spec reads the PyType_Spec at addr, if there is one: name, sizes, flags and an array of
// slots.
func (r *reader) spec(addr uint64) {
	word := r.file.Word
	sizes, flags, slots := word(addr+8), word(addr+specFlags), word(addr+specSlots)
	basic, item := uint64(int64(int32(sizes))), uint64(int64(int32(sizes>>32)))
	if slots == 0 || word(addr) == 0 || flags>>32 != 0 || !isSmall(basic) || !isSmall(item) || !r.file.Holds(slots) {
		return
	}
	if r.isModule(addr - moduleDoc) {
		return // its text, size, methods and slots look the same
	}
	n := r.slotCount(slots)
	if n == 0 {
		return
	}
	owner, ok := r.name(word(addr))
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

// slotCount returns the number of slots in an array, or 0 if it is not an array of type slots.
// In such an array each slot number occurs once, one slot is of the type itself, and slots for
// functions hold functions. Slots of modules look the same but have low numbers.
func (r *reader) slotCount(addr uint64) uint64 {
	var seen [128]bool
	ofType := false
	for n := uint64(0); ; n++ {
		id, value := r.file.Word(addr+n*slotSize), r.file.Word(addr+n*slotSize+8)
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

// class is the owner of the functions that CPython puts into types for methods written in
// Python. It is a keyword, so no type has that name.
const class = "class"

// slotdefs reads the array of struct wrapperbase at addr, if there is one. Each entry has the
// method's name, the offset in a class's type, the function to put there, and a wrapper.
func (r *reader) slotdefs(addr uint64) {
	word := r.file.Word
	const getattr = 64 // the offset of tp_getattr, used by the first two entries
	if r.typ.Addr == 0 || word(addr+8) != getattr || word(addr+16) != 0 || word(addr+24) != 0 || !r.isText(word(addr), "__getattribute__") {
		return
	}
	size := uint64(48)
	if !r.isText(word(addr+size), "__getattr__") {
		size = 56 // before 3.12 there is also a word for the name as an object
	}
	if !r.isText(word(addr+size), "__getattr__") || word(addr+size+8) != getattr {
		return
	}
	n, numbers := uint64(0), uint64(0)
	for ; word(addr+n*size) != 0; n++ {
		r.work--
		if n == maxTable || !r.isFunction(word(addr+n*size+16)) || !r.isFunction(word(addr+n*size+24)) {
			return
		}
		if r.isText(word(addr+n*size), "__add__") && numbers == 0 {
			numbers = word(addr + n*size + 8) // sequences also have an __add__, later
		}
	}
	fields := classFields(numbers)
	for i := range n {
		if f := fields[word(addr+i*size+8)]; f != "" {
			r.add(fact{addr: word(addr + i*size + 16), owner: class, field: f})
		}
	}
}

// isText reports whether the text at an address equals want.
func (r *reader) isText(addr uint64, want string) bool {
	text, ok := r.file.Text(addr, len(want)+1)
	return ok && string(text) == want
}

// classFields returns the fields of a PyHeapTypeObject by offset: the type itself, then the
// suites. Except for one suite, the numbers come first.
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
