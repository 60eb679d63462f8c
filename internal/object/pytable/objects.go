package pytable

// object reads the type or module definition at addr, if there is one.
func (r *reader) object(addr uint64) {
	if refs := r.file.Word(addr); !isStatic(refs) {
		return
	}
	switch r.file.Word(addr + objectType) {
	case 0: // PyType_Ready or the loader fills it in
		if !r.typeObject(addr) {
			r.module(addr)
		}
	case r.typ.Addr:
		r.typeObject(addr)
	}
}

// isStatic reports whether a word may be the reference count of an object in the data: 1, or
// since 3.12 a value so large that the object is never freed. Since 3.14 there are flags in the
// upper bits.
func isStatic(refs uint64) bool {
	count := uint32(refs)
	return refs == 1 || count >= 1<<30 && refs>>32&0xffff == 0
}

// typeObject reads the PyTypeObject at addr, and reports whether there is one.
func (r *reader) typeObject(addr uint64) bool {
	word := r.file.Word
	r.work -= len(typeFields)
	if word(addr+varSize) != 0 || word(addr+typeName) == 0 || word(addr+typeFlags)>>33 != 0 || int64(word(addr+typeBasic)) < 0 {
		return false
	}
	for _, offset := range []uint64{typeBasic, typeItem, typeWeak, typeDict} {
		if !isSmall(word(addr + offset)) {
			return false
		}
	}
	for _, offset := range []uint64{typeDoc, typeMethods, typeGetSet, typeBase} {
		if !r.isData(word(addr + offset)) {
			return false
		}
	}
	if v := word(addr + typeVectorcall); !isSmall(v) && !r.isFunction(v) {
		return false
	}
	fields := typeFields[:]
	if r.typ.Size < vectorcall+8 {
		fields = fields[:len(fields)-1]
	}
	for _, f := range fields {
		if !r.isFunction(word(addr + f.offset)) {
			return false
		}
	}
	for _, s := range r.suites {
		if !r.isData(word(addr + s.offset)) {
			return false
		}
	}
	owner, ok := r.name(word(addr + typeName))
	if !ok {
		return false
	}
	r.bases[addr] = word(addr + typeBase)
	for _, f := range fields {
		r.add(fact{addr: word(addr + f.offset), owner: owner, field: f.name, typ: addr})
	}
	for _, s := range r.suites {
		r.suite(word(addr+s.offset), fact{owner: owner, typ: addr}, s.fields)
	}
	r.methods(word(addr+typeMethods), owner)
	r.getSets(word(addr+typeGetSet), owner)
	return true
}

// suite reads a structure of functions. For each it adds a copy of template with the function's
// address and field. It ignores a structure that holds anything else.
func (r *reader) suite(addr uint64, template fact, fields []string) {
	if addr == 0 {
		return
	}
	for i := range fields {
		if !r.isFunction(r.file.Word(addr + uint64(i)*8)) {
			return
		}
	}
	for i, f := range fields {
		template.addr, template.field = r.file.Word(addr+uint64(i)*8), f
		r.add(template)
	}
}

// isModule reports whether the memory at addr starts like a PyModuleDef.
func (r *reader) isModule(addr uint64) bool {
	word := r.file.Word
	return isStatic(word(addr)) && word(addr+objectType) == 0 && word(addr+moduleInit) == 0 && word(addr+moduleIndex) == 0 && word(addr+moduleCopy) == 0 &&
		word(addr+moduleName) != 0 && isSmall(word(addr+moduleSize)) && r.isData(word(addr+moduleMethods)) && r.isData(word(addr+moduleSlots))
}

// module reads a PyModuleDef.
func (r *reader) module(addr uint64) {
	if !r.isModule(addr) {
		return
	}
	word := r.file.Word
	functions := []field{{80, "m_traverse"}, {88, "m_clear"}, {96, "m_free"}}
	for _, f := range functions {
		if !r.isFunction(word(addr + f.offset)) {
			return
		}
	}
	owner, ok := r.name(word(addr + moduleName))
	if !ok {
		return
	}
	for _, f := range functions {
		r.add(fact{addr: word(addr + f.offset), owner: owner, field: f.name})
	}
	r.methods(word(addr+moduleMethods), owner)
}

// methods reads an array of PyMethodDef.
func (r *reader) methods(addr uint64, owner string) {
	const flags = 1 << 12 // all METH_ flags are below this
	word := r.file.Word
	for range maxTable {
		function, flag := word(addr+8), uint32(word(addr+16))
		if addr == 0 || word(addr) == 0 || !r.isFunction(function) || flag == 0 || flag >= flags {
			return
		}
		name, ok := r.name(word(addr))
		if !ok {
			return
		}
		r.add(fact{addr: function, owner: owner, field: name, method: true})
		addr += methodSize
	}
}

// getSets reads an array of PyGetSetDef.
func (r *reader) getSets(addr uint64, owner string) {
	word := r.file.Word
	for range maxTable {
		get, set := word(addr+8), word(addr+16)
		if addr == 0 || word(addr) == 0 || !r.isFunction(get) || !r.isFunction(set) || !r.isData(word(addr+24)) {
			return
		}
		name, ok := r.name(word(addr))
		if !ok {
			return
		}
		r.add(fact{addr: get, owner: owner, field: name + ".get"})
		r.add(fact{addr: set, owner: owner, field: name + ".set"})
		addr += getSetSize
	}
}
