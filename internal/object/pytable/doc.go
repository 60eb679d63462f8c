// Package pytable names functions of CPython and of its extension modules in files without
// symbols. Static functions then have no symbol names. But the interpreter finds them through
// tables in the data, and these have names:
//
//	PyMethodDef, PyGetSetDef of a type, a PyModuleDef → list.append, math.sqrt, frame.f_lineno.get
//	PyTypeObject and its suites, PyType_Spec          → list.tp_dealloc, list.sq_item
//	slotdefs of type objects                          → class.tp_init, of classes written in Python
//
// A name is TYPE.METHOD, MODULE.FUNCTION, TYPE.FIELD or TYPE.ATTRIBUTE.get. FIELD is named as
// in CPython's documentation. C symbols have no dot there, so these names can't be mistaken for
// symbols. A function in several tables is named after the type from which the others derive.
// If there is no such type, it has two names, "set.tp_dealloc|frozenset.tp_dealloc", and "|*"
// if there are more.
//
// It knows the layouts of CPython 3.6 to 3.15 on 64-bit machines (Include/object.h,
// cpython/object.h, methodobject.h, moduleobject.h, descrobject.h, typeslots.h). Objects of
// free-threaded builds start differently and are not found.
//
// The file is untrusted. The data read from it and the work it causes are limited. A table
// counts only if its words have the values that they must have.
package pytable
