package v8

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// layout holds offsets in the objects of one version, in bytes from an object's address.
// Pointers to objects are one higher.
type layout struct {
	instanceType                                uint64 // in a Map
	shared                                      uint64 // in a JSFunction
	data, untrusted, name, script               uint64 // in a SharedFunctionInfo; untrusted is 0 if it does not exist
	scriptName, scriptSource, lineEnds, infos   uint64 // in a Script; infos lists its functions
	arrayLength, arrayData                      uint64
	stringLength, oneByte, twoByte              uint64
	consFirst, slicedParent, slicedOffset, thin uint64
	resource                                    uint64
	slots                                       uint64 // in a ScopeInfo
	firstVariable, localCount, begin            uint64 // indices of its slots; begin is 0 if it does not exist
	start                                       uint64 // in UncompiledData: where the function begins
	bytecodes, bytecodePositions                uint64 // in a BytecodeArray
	deopt, positions, startAt, sizeAt, flags    uint64 // in a Code; startAt is 0 if the object ends with its instructions
	header                                      uint64 // from the words that identify code to its start
	deoptShared, deoptLiterals, deoptInlining   uint64 // indices in its array
	wrapped                                     uint64 // in a SharedFunctionInfoWrapper; 0: does not exist
	positionFlags                               uint64 // bits in an entry of a position table

	// Types of objects.
	isShared, isScope, isScript, isBytecodes, isCode, isWrapper uint16
	isArray                                                     [5]uint16 // arrays of words
	isBytes                                                     [2]uint16
	uncompiled                                                  [4]uint16
	notString, representation, encoding                         uint16
	seq, cons, external, sliced, thinTag, oneByteTag            uint16

	// Words of a frame, as offsets in bytes from its frame pointer.
	marker, function, bytecodeArray, bytecodeOffset int64
	regexp, wasm                                    uint64 // markers
	entry                                           [2]uint64
}

// reader reads the constants that a program exports for debuggers
// (tools/gen-postmortem-metadata.py in V8's tree). A constant that the program does not export
// comes from the version's edition.
type reader struct {
	mem     interp.Memory
	symbol  func(name string) (interp.Symbol, bool)
	hidden  constants
	missing string
}

// maybe returns the first existing constant among names.
func (r *reader) maybe(names ...string) (int32, bool) {
	for _, name := range names {
		var b [4]byte
		if s, ok := r.symbol("v8dbg_" + name); ok && r.mem.Read(s.Addr, b[:]) {
			return int32(binary.LittleEndian.Uint32(b[:])), true
		}
	}
	n, ok := r.hidden[names[0]]
	return n, ok
}

// within returns the constant with one of the names. If there is none between low and high, it
// sets r.missing.
func (r *reader) within(low, high int64, names []string) int64 {
	n, ok := r.maybe(names...)
	if !ok || int64(n) < low || int64(n) > high {
		r.missing = names[0]
	}
	return int64(n)
}

// maxField bounds the offset of a field in an object, in bytes.
const maxField = 4096

func (r *reader) field(names ...string) uint64 { return uint64(r.within(0, maxField, names)) }

func (r *reader) frame(names ...string) int64 { return r.within(-256, 0, names) }

// optional returns the offset of a field that some versions lack, or 0.
func (r *reader) optional(name string) uint64 {
	if n, ok := r.maybe(name); ok && n > 0 && n <= maxField {
		return uint64(n)
	}
	return 0
}

const (
	noType   = 0xffff // the type of no object
	noMarker = 1      // the marker of no frame
)

// kind returns the type number of a class. SharedFunctionInfo, for example, has the constant
// SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE.
func (r *reader) kind(class string) uint16 {
	var constant strings.Builder
	for i, c := range class {
		if i > 0 && 'A' <= c && c <= 'Z' {
			constant.WriteByte('_')
		}
		constant.WriteRune(c)
	}
	n, ok := r.maybe("type_" + class + "__" + strings.ToUpper(constant.String()) + "_TYPE")
	if !ok {
		return noType
	}
	return uint16(n)
}

// newLayout reads the layout of a program of a version.
func newLayout(r *reader, v version) (*layout, error) {
	hidden, ok := hiddenBy(v)
	if !ok {
		return nil, fmt.Errorf("it is version %d.%d, whose layout is not known", v.major, v.minor)
	}
	r.hidden = hidden
	if r.field("TaggedSize") != 8 || r.field("SmiShiftSize") != 31 || r.field("SmiTagMask") != 1 {
		return nil, fmt.Errorf("it was built with compressed pointers")
	}
	l := &layout{
		instanceType: r.field("class_Map__instance_type__uint16_t"),
		shared:       r.field("class_JSFunction__shared__SharedFunctionInfo"),
		data:         r.field(functionData, "class_SharedFunctionInfo__function_data__Tagged_Object_"), untrusted: r.optional(untrustedData),
		name:       r.field("class_SharedFunctionInfo__name_or_scope_info__Object", "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"),
		script:     r.field("class_SharedFunctionInfo__script__Tagged_HeapObject_", "class_SharedFunctionInfo__script_or_debug_info__HeapObject"),
		scriptName: r.field("class_Script__name__Object"), scriptSource: r.field(scriptSource), lineEnds: r.field("class_Script__line_ends__Object"), infos: r.field(scriptInfos),
		arrayLength: r.field("class_FixedArrayBase__length__SMI"), arrayData: r.field("class_FixedArray__data__uintptr_t"),
		stringLength: r.field("class_String__length__int32_t"),
		oneByte:      r.field("class_SeqOneByteString__chars__char"), twoByte: r.field("class_SeqTwoByteString__chars__char"),
		consFirst: r.field("class_ConsString__first__String"), slicedParent: r.field("class_SlicedString__parent__String"),
		slicedOffset: r.field("class_SlicedString__offset__SMI"), thin: r.field("class_ThinString__actual__String"), resource: r.field("class_ExternalString__resource__Object"),
		slots: 8, firstVariable: r.field("scopeinfo_idx_first_vars"), localCount: r.field("scopeinfo_idx_ncontextlocals"), begin: r.optional(scopeStart),
		start:     r.field("class_UncompiledData__start_position__int32_t"),
		bytecodes: r.field(bytecodeData), bytecodePositions: r.field(bytecodePositions),
		deopt: r.field(deoptData, "class_Code__deoptimization_data__Tagged_FixedArray_"), positions: r.field(positionTable, "class_Code__source_position_table__Tagged_ByteArray_"),
		startAt: r.optional(codeStart), sizeAt: r.field(codeSize), flags: r.field(codeFlags), header: r.field(codeHeader),
		deoptLiterals: r.field(deoptLiterals), deoptInlining: r.field(deoptInlining), wrapped: r.optional(wrappedShared), positionFlags: r.field(positionFlags),
		deoptShared: r.field(deoptShared, "DeoptimizationDataWrappedSharedFunctionInfoIndex", "DeoptimizationDataSharedFunctionInfoWrapperIndex"),

		isShared: r.kind("SharedFunctionInfo"), isScope: r.kind("ScopeInfo"), isScript: r.kind("Script"), isBytecodes: r.kind("BytecodeArray"), isCode: r.kind("Code"), isWrapper: r.kind("SharedFunctionInfoWrapper"),
		isArray: [...]uint16{r.kind("FixedArray"), r.kind("WeakFixedArray"), r.kind("TrustedFixedArray"), r.kind("TrustedWeakFixedArray"), r.kind("ProtectedFixedArray")},
		isBytes: [...]uint16{r.kind("ByteArray"), r.kind("TrustedByteArray")},
		uncompiled: [...]uint16{
			r.kind("UncompiledDataWithoutPreparseData"), r.kind("UncompiledDataWithPreparseData"),
			r.kind("UncompiledDataWithoutPreparseDataWithJob"), r.kind("UncompiledDataWithPreparseDataAndJob"),
		},
		notString: uint16(r.within(-maxField, 0, []string{"IsNotStringMask"})), representation: uint16(r.field("StringRepresentationMask")), encoding: uint16(r.field("StringEncodingMask")),
		seq: uint16(r.field("SeqStringTag")), cons: uint16(r.field("ConsStringTag")), external: uint16(r.field("ExternalStringTag")),
		sliced: uint16(r.field("SlicedStringTag")), thinTag: uint16(r.field("ThinStringTag")), oneByteTag: uint16(r.field("OneByteStringTag")),

		marker: r.frame("off_fp_context_or_frame_type"), function: r.frame("off_fp_function"), bytecodeArray: r.frame(bytecodeArray), bytecodeOffset: r.frame(bytecodeOffset),
		regexp: 2 * r.optional("frametype_IrregexpFrame"), wasm: 2 * r.field("frametype_WasmFrame"),
		entry: [...]uint64{2 * r.field("frametype_EntryFrame"), 2 * r.field("frametype_ConstructEntryFrame")},
	}
	if _, ok := r.maybe("parent_ScopeInfo__FixedArrayBase"); ok {
		l.slots = l.arrayData
	}
	if l.regexp == 0 {
		l.regexp = noMarker
	}
	if r.missing != "" {
		return nil, fmt.Errorf("it does not export v8dbg_%s", r.missing)
	}
	return l, nil
}
