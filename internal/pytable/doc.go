// Package pytable names functions of CPython and of its extension modules where the file
// has lost their symbols. Static functions have no other names in a stripped file, but the
// interpreter finds them by tables in the data, and these have names:
//
//	PyMethodDef, PyGetSetDef of a type, a PyModuleDef → list.append, math.sqrt, frame.f_lineno.get
//	PyTypeObject and its suites, PyType_Spec          → list.tp_dealloc, list.sq_item
//	slotdefs of type objects                          → class.tp_init, of classes written in Python
//
// A name is TYPE.METHOD, MODULE.FUNCTION, TYPE.FIELD or TYPE.ATTRIBUTE.get, with the field as
// CPython's documentation has it. No symbol of C has a dot there, so that these names
// can't be taken for symbols. A function that several tables have is named after the type
// that the others derive from. Without one it has two names, "set.tp_dealloc|frozenset.tp_dealloc",
// and "|*" if there are more.
//
// The layouts are those of CPython 3.6 to 3.15 on 64-bit machines (Include/object.h,
// cpython/object.h, methodobject.h, moduleobject.h, descrobject.h, typeslots.h), without
// those of free-threaded builds, whose objects begin otherwise: none of them is found.
//
// The file is hostile. What is read of it and the work that it makes have limits, and a
// table counts as far as its words are what they have to be.
package pytable
