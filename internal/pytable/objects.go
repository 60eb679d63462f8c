package pytable

// object reads the type or the definition of a module that begins at an address, if it
// does.
func (r *reader) object(at uint64) {
	if refs := r.file.Word(at); !isStatic(refs) {
		return
	}
	switch r.file.Word(at + objectType) {
	case 0: // PyType_Ready fills it in, or the loader
		if !r.typeObject(at) {
			r.module(at)
		}
	case r.typ.Addr:
		r.typeObject(at)
	}
}

// isStatic tells whether a word may be how often an object in the data is referred to:
// once, or since 3.12 so often that it is never freed. Since 3.14 flags are above that.
func isStatic(refs uint64) bool {
	count := uint32(refs)
	return refs == 1 || count >= 1<<30 && refs>>32&0xffff == 0
}

// typeObject reads a PyTypeObject.
func (r *reader) typeObject(at uint64) bool {
	word := r.file.Word
	r.work -= len(typeFields)
	if word(at+varSize) != 0 || word(at+typeName) == 0 || word(at+typeFlags)>>33 != 0 || int64(word(at+typeBasic)) < 0 {
		return false
	}
	for _, offset := range []uint64{typeBasic, typeItem, typeWeak, typeDict} {
		if !isSmall(word(at + offset)) {
			return false
		}
	}
	for _, offset := range []uint64{typeDoc, typeMethods, typeGetSet, typeBase} {
		if !r.isData(word(at + offset)) {
			return false
		}
	}
	if v := word(at + typeVectorcall); !isSmall(v) && !r.isFunction(v) {
		return false
	}
	fields := typeFields[:]
	if r.typ.Size < vectorcall+8 {
		fields = fields[:len(fields)-1]
	}
	for _, f := range fields {
		if !r.isFunction(word(at + f.offset)) {
			return false
		}
	}
	for _, s := range r.suites {
		if !r.isData(word(at + s.offset)) {
			return false
		}
	}
	owner, ok := r.name(word(at + typeName))
	if !ok {
		return false
	}
	r.bases[at] = word(at + typeBase)
	for _, f := range fields {
		r.add(fact{addr: word(at + f.offset), owner: owner, field: f.name, typ: at})
	}
	for _, s := range r.suites {
		r.suite(word(at+s.offset), fact{owner: owner, typ: at}, s.fields)
	}
	r.methods(word(at+typeMethods), owner)
	r.getSets(word(at+typeGetSet), owner)
	return true
}

// suite reads a structure of functions. One that holds anything else says nothing.
func (r *reader) suite(at uint64, of fact, fields []string) {
	if at == 0 {
		return
	}
	for i := range fields {
		if !r.isFunction(r.file.Word(at + uint64(i)*8)) {
			return
		}
	}
	for i, f := range fields {
		of.addr, of.field = r.file.Word(at+uint64(i)*8), f
		r.add(of)
	}
}

// isModule tells whether what is at an address begins like a PyModuleDef.
func (r *reader) isModule(at uint64) bool {
	word := r.file.Word
	return isStatic(word(at)) && word(at+objectType) == 0 && word(at+moduleInit) == 0 && word(at+moduleIndex) == 0 && word(at+moduleCopy) == 0 &&
		word(at+moduleName) != 0 && isSmall(word(at+moduleSize)) && r.isData(word(at+moduleMethods)) && r.isData(word(at+moduleSlots))
}

// module reads a PyModuleDef.
func (r *reader) module(at uint64) {
	if !r.isModule(at) {
		return
	}
	word := r.file.Word
	functions := []field{{80, "m_traverse"}, {88, "m_clear"}, {96, "m_free"}}
	for _, f := range functions {
		if !r.isFunction(word(at + f.offset)) {
			return
		}
	}
	owner, ok := r.name(word(at + moduleName))
	if !ok {
		return
	}
	for _, f := range functions {
		r.add(fact{addr: word(at + f.offset), owner: owner, field: f.name})
	}
	r.methods(word(at+moduleMethods), owner)
}

// methods reads an array of PyMethodDef.
func (r *reader) methods(at uint64, owner string) {
	const flags = 1 << 12 // all METH_ flags are below that
	word := r.file.Word
	for range maxTable {
		function, flag := word(at+8), uint32(word(at+16))
		if at == 0 || word(at) == 0 || !r.isFunction(function) || flag == 0 || flag >= flags {
			return
		}
		name, ok := r.name(word(at))
		if !ok {
			return
		}
		r.add(fact{addr: function, owner: owner, field: name, method: true})
		at += methodSize
	}
}

// getSets reads an array of PyGetSetDef.
func (r *reader) getSets(at uint64, owner string) {
	word := r.file.Word
	for range maxTable {
		get, set := word(at+8), word(at+16)
		if at == 0 || word(at) == 0 || !r.isFunction(get) || !r.isFunction(set) || !r.isData(word(at+24)) {
			return
		}
		name, ok := r.name(word(at))
		if !ok {
			return
		}
		r.add(fact{addr: get, owner: owner, field: name + ".get"})
		r.add(fact{addr: set, owner: owner, field: name + ".set"})
		at += getSetSize
	}
}
