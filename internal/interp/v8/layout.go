package v8

import (
	"encoding/binary"
	"fmt"

	"github.com/ringtap/ringtap/internal/interp"
)

// layout is where things are in the objects of one version, in bytes from the object's
// address: pointers to it are one more.
type layout struct {
	instanceType                                uint64 // of a Map
	shared                                      uint64 // of a JSFunction
	data, name, script                          uint64 // of a SharedFunctionInfo
	scriptName, scriptSource, lineEnds          uint64
	arrayLength, arrayData                      uint64
	stringLength, oneByte, twoByte              uint64
	consFirst, slicedParent, slicedOffset, thin uint64
	resource                                    uint64
	firstVariable, localCount                   uint64 // slots of a ScopeInfo
	start                                       uint64 // of UncompiledData: where the function begins
	bytecodes                                   uint64 // of a BytecodeArray
	deopt, positions                            uint64 // of a Code
	deoptShared, deoptLiterals, deoptInlining   uint64 // places in its array

	// Types of objects.
	isShared, isScope, isScript, isFixedArray, isByteArray, isCode uint16
	uncompiled                                                     [4]uint16
	notString, representation, encoding                            uint16
	seq, cons, external, sliced, thinTag, oneByteTag               uint16

	// Words of a frame, from its frame pointer on.
	marker, function, bytecodeArray, bytecodeOffset int64
	regexp, wasm                                    uint64 // markers
}

// newLayout reads the constants that the program exports for debuggers
// (tools/gen-postmortem-metadata.py in V8's tree).
func newLayout(mem interp.Memory, symbol func(name string) (interp.Symbol, bool)) (*layout, error) {
	missing := ""
	maybe := func(name string, otherwise int32) int32 {
		s, ok := symbol("v8dbg_" + name)
		var b [4]byte
		if !ok || !mem.Read(s.Addr, b[:]) {
			return otherwise
		}
		return int32(binary.LittleEndian.Uint32(b[:]))
	}
	const none = -1 << 31
	field := func(name string) uint64 {
		n := maybe(name, none)
		if n < 0 || n > 4096 {
			missing = name
		}
		return uint64(n)
	}
	kind := func(name string) uint16 { return uint16(maybe("type_"+name, 0xffff)) }
	frame := func(name string) int64 {
		n := maybe("off_fp_"+name, none)
		if n < -256 || n > 0 {
			missing = name
		}
		return int64(n)
	}
	if field("TaggedSize") != 8 || field("SmiShiftSize") != 31 || field("SmiTagMask") != 1 {
		return nil, fmt.Errorf("it was built with compressed pointers")
	}
	l := &layout{
		instanceType: field("class_Map__instance_type__uint16_t"),
		shared:       field("class_JSFunction__shared__SharedFunctionInfo"),
		data:         field("class_SharedFunctionInfo__function_data__Object"), name: field("class_SharedFunctionInfo__name_or_scope_info__Object"),
		script:     field("class_SharedFunctionInfo__script_or_debug_info__HeapObject"),
		scriptName: field("class_Script__name__Object"), scriptSource: field("class_Script__source__Object"), lineEnds: field("class_Script__line_ends__Object"),
		arrayLength: field("class_FixedArrayBase__length__SMI"), arrayData: field("class_FixedArray__data__uintptr_t"),
		stringLength: field("class_String__length__int32_t"),
		oneByte:      field("class_SeqOneByteString__chars__char"), twoByte: field("class_SeqTwoByteString__chars__char"),
		consFirst: field("class_ConsString__first__String"), slicedParent: field("class_SlicedString__parent__String"),
		slicedOffset: field("class_SlicedString__offset__SMI"), thin: field("class_ThinString__actual__String"), resource: field("class_ExternalString__resource__Object"),
		firstVariable: field("scopeinfo_idx_first_vars"), localCount: field("scopeinfo_idx_ncontextlocals"),
		start: field("class_UncompiledData__start_position__int32_t"), bytecodes: field("class_BytecodeArray__data__uintptr_t"),

		isShared: kind("SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"), isScope: kind("ScopeInfo__SCOPE_INFO_TYPE"), isScript: kind("Script__SCRIPT_TYPE"),
		isFixedArray: kind("FixedArray__FIXED_ARRAY_TYPE"), isByteArray: kind("ByteArray__BYTE_ARRAY_TYPE"), isCode: kind("Code__CODE_TYPE"),
		deopt: field("class_Code__deoptimization_data__FixedArray"), positions: field("class_Code__source_position_table__ByteArray"),
		deoptShared: field("DeoptimizationDataSharedFunctionInfoIndex"), deoptLiterals: field("DeoptimizationDataLiteralArrayIndex"),
		deoptInlining: field("DeoptimizationDataInliningPositionsIndex"),
		uncompiled: [...]uint16{
			kind("UncompiledDataWithoutPreparseData__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_TYPE"),
			kind("UncompiledDataWithPreparseData__UNCOMPILED_DATA_WITH_PREPARSE_DATA_TYPE"),
			kind("UncompiledDataWithoutPreparseDataWithJob__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_WITH_JOB_TYPE"),
			kind("UncompiledDataWithPreparseDataAndJob__UNCOMPILED_DATA_WITH_PREPARSE_DATA_AND_JOB_TYPE"),
		},
		notString: uint16(maybe("IsNotStringMask", none)), representation: uint16(field("StringRepresentationMask")), encoding: uint16(field("StringEncodingMask")),
		seq: uint16(field("SeqStringTag")), cons: uint16(field("ConsStringTag")), external: uint16(field("ExternalStringTag")),
		sliced: uint16(field("SlicedStringTag")), thinTag: uint16(field("ThinStringTag")), oneByteTag: uint16(field("OneByteStringTag")),

		marker: frame("context_or_frame_type"), function: frame("function"), bytecodeArray: frame("bytecode_array"), bytecodeOffset: frame("bytecode_offset"),
		regexp: 2 * field("frametype_IrregexpFrame"), wasm: 2 * field("frametype_WasmFrame"),
	}
	if missing != "" {
		return nil, fmt.Errorf("it does not export v8dbg_%s", missing)
	}
	return l, nil
}
