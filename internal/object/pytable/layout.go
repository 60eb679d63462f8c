package pytable

import "strings"

// Sizes and offsets in bytes. All have been the same since CPython 3.6.
const (
	objectType = 8  // PyObject.ob_type, after ob_refcnt
	varSize    = 16 // PyVarObject.ob_size
	objectHead = 16 // sizeof(PyObject)

	typeName       = 24
	typeBasic      = 32
	typeItem       = 40
	typeVectorcall = 56 // an offset in instances; before 3.8 tp_print
	typeFlags      = 168
	typeDoc        = 176
	typeWeak       = 208
	typeMethods    = 232
	typeGetSet     = 248
	typeBase       = 256
	typeDict       = 288

	methodSize = 32 // PyMethodDef
	getSetSize = 40 // PyGetSetDef

	moduleInit    = objectHead // PyModuleDef_Base.m_init
	moduleIndex   = 24
	moduleCopy    = 32
	moduleName    = 40
	moduleDoc     = 48
	moduleSize    = 56
	moduleMethods = 64
	moduleSlots   = 72

	specFlags = 16 // PyType_Spec
	specSlots = 24
	slotSize  = 16 // PyType_Slot
)

// field is a function pointer in a structure.
type field struct {
	offset uint64
	name   string
}

// vectorcall is the offset of tp_vectorcall, which 3.8 added.
const vectorcall = 400

// typeFields are the function pointers in PyTypeObject.
var typeFields = [...]field{
	{48, "tp_dealloc"}, {64, "tp_getattr"}, {72, "tp_setattr"}, {88, "tp_repr"}, {120, "tp_hash"}, {128, "tp_call"}, {136, "tp_str"},
	{144, "tp_getattro"}, {152, "tp_setattro"}, {184, "tp_traverse"}, {192, "tp_clear"}, {200, "tp_richcompare"},
	{216, "tp_iter"}, {224, "tp_iternext"}, {272, "tp_descr_get"}, {280, "tp_descr_set"}, {296, "tp_init"}, {304, "tp_alloc"},
	{312, "tp_new"}, {320, "tp_free"}, {328, "tp_is_gc"}, {376, "tp_del"}, {392, "tp_finalize"}, {vectorcall, "tp_vectorcall"},
}

// suite is a structure of function pointers that a type points to.
type suite struct {
	offset uint64 // of the pointer in PyTypeObject
	fields []string
}

// suites leaves out PyAsyncMethods.am_send, which 3.10 added.
func suites() []suite {
	return []suite{
		{80, strings.Fields("am_await am_aiter am_anext")},
		{96, numberFields()},
		{104, sequenceFields()},
		{112, mappingFields()},
		{160, strings.Fields("bf_getbuffer bf_releasebuffer")},
	}
}

// unused marks a word of a structure that is not a function.
const unused = "-"

func numberFields() []string {
	return strings.Fields(`nb_add nb_subtract nb_multiply nb_remainder nb_divmod nb_power nb_negative nb_positive nb_absolute
		nb_bool nb_invert nb_lshift nb_rshift nb_and nb_xor nb_or nb_int - nb_float
		nb_inplace_add nb_inplace_subtract nb_inplace_multiply nb_inplace_remainder nb_inplace_power
		nb_inplace_lshift nb_inplace_rshift nb_inplace_and nb_inplace_xor nb_inplace_or
		nb_floor_divide nb_true_divide nb_inplace_floor_divide nb_inplace_true_divide
		nb_index nb_matrix_multiply nb_inplace_matrix_multiply`)
}

func sequenceFields() []string {
	return strings.Fields("sq_length sq_concat sq_repeat sq_item - sq_ass_item - sq_contains sq_inplace_concat sq_inplace_repeat")
}

func mappingFields() []string { return strings.Fields("mp_length mp_subscript mp_ass_subscript") }

// Numbers of slots in a PyType_Spec.
const (
	slotAlloc   = 47 // tp_alloc, the first slot of the type itself, not of a suite
	slotMethods = 64
	slotGetSet  = 73
)

// slotFields are the slots of a PyType_Spec by number, which is part of the stable ABI. Slots
// that hold data are marked unused.
func slotFields() []string {
	return strings.Fields(`- bf_getbuffer bf_releasebuffer mp_ass_subscript mp_length mp_subscript
		nb_absolute nb_add nb_and nb_bool nb_divmod nb_float nb_floor_divide nb_index
		nb_inplace_add nb_inplace_and nb_inplace_floor_divide nb_inplace_lshift nb_inplace_multiply nb_inplace_or
		nb_inplace_power nb_inplace_remainder nb_inplace_rshift nb_inplace_subtract nb_inplace_true_divide nb_inplace_xor
		nb_int nb_invert nb_lshift nb_multiply nb_negative nb_or nb_positive nb_power nb_remainder nb_rshift
		nb_subtract nb_true_divide nb_xor sq_ass_item sq_concat sq_contains sq_inplace_concat sq_inplace_repeat
		sq_item sq_length sq_repeat tp_alloc - - tp_call tp_clear tp_dealloc tp_del tp_descr_get tp_descr_set -
		tp_getattr tp_getattro tp_hash tp_init tp_is_gc tp_iter tp_iternext - tp_new tp_repr tp_richcompare
		tp_setattr tp_setattro tp_str tp_traverse - - tp_free nb_matrix_multiply nb_inplace_matrix_multiply
		am_await am_aiter am_anext tp_finalize am_send tp_vectorcall -`)
}
