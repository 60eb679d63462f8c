package v8

import (
	"encoding/binary"
	"slices"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// version is V8's version. Offsets do not change within a minor version.
type version struct{ major, minor uint32 }

// readVersion reads V8's version from a program.
func readVersion(mem interp.Memory, symbol func(name string) (interp.Symbol, bool)) (v version, ok bool) {
	for _, part := range []struct {
		name string
		to   *uint32
	}{{"_ZN2v88internal7Version6major_E", &v.major}, {"_ZN2v88internal7Version6minor_E", &v.minor}} {
		s, exported := symbol(part.name)
		var b [4]byte
		if !exported || !mem.Read(s.Addr, b[:]) {
			return version{}, false
		}
		*part.to = binary.LittleEndian.Uint32(b[:])
	}
	return v, true
}

// constants are named as the program would export them, without v8dbg_.
type constants map[string]int32

// edition holds the constants that some versions have but do not export.
type edition struct {
	of     []version
	hidden constants
}

// Names of constants that some versions do not export.
const (
	bytecodeArray  = "off_fp_bytecode_array"
	bytecodeOffset = "off_fp_bytecode_offset"
	bytecodeData   = "class_BytecodeArray__data__uintptr_t"
	scriptSource   = "class_Script__source__Object"
	functionData   = "class_SharedFunctionInfo__function_data__Object"
	wrappedShared  = "class_SharedFunctionInfoWrapper__shared_info__Tagged_SharedFunctionInfo_"
	codeStart      = "class_Code__instruction_start__Address"
	codeSize       = "class_Code__instruction_size__int"
	codeFlags      = "class_Code__flags__uint32_t"
	deoptData      = "class_Code__deoptimization_data__FixedArray"
	positionTable  = "class_Code__source_position_table__ByteArray"
	deoptLiterals  = "DeoptimizationDataLiteralArrayIndex"
	deoptShared    = "DeoptimizationDataSharedFunctionInfoIndex"
	deoptInlining  = "DeoptimizationDataInliningPositionsIndex"

	// No version exports these.
	bytecodePositions = "class_BytecodeArray__source_position_table__Object"
	scriptInfos       = "class_Script__shared_function_infos__WeakFixedArray"
	untrustedData     = "class_SharedFunctionInfo__untrusted_function_data"
	codeHeader        = "code_header"         // bytes from the words that identify code to its start
	positionFlags     = "position_flags"      // bits in an entry of a position table that are not part of the offset
	scopeStart        = "scopeinfo_idx_start" // where the function begins; 0: that follows its name
)

// editions covers the versions in Node 16 to 26. A version is added once a program of it was
// compared with its source (TestLiveCallsOfJavaScript…). Up to 10.8 a Code object ends with its
// instructions. Later a Code object points to them, and the instructions follow a header that
// points back to it.
var editions = []edition{
	{[]version{{9, 0}, {9, 1}, {9, 2}, {9, 3}, {9, 4}}, constants{
		bytecodeData: 54, bytecodePositions: 32, positionFlags: 1, scriptInfos: 88, bytecodeArray: -32, bytecodeOffset: -40, scriptSource: 8,
		codeHeader: 96, deoptData: 16, positionTable: 24, codeFlags: 48, deoptLiterals: 2, deoptShared: 6, deoptInlining: 7,
	}},
	{[]version{{9, 5}, {9, 6}, {10, 1}, {10, 2}, {10, 7}, {10, 8}}, constants{
		bytecodePositions: 32, positionFlags: 1, scriptInfos: 88, codeHeader: 128, deoptData: 16, positionTable: 24, deoptLiterals: 2, deoptShared: 6, deoptInlining: 7,
	}},
	{[]version{{11, 3}}, constants{bytecodePositions: 32, positionFlags: 1, scriptInfos: 88, codeHeader: 16, codeStart: 40, codeFlags: 48, codeSize: 56}},
	{[]version{{11, 8}}, constants{bytecodePositions: 32, positionFlags: 1, scriptInfos: 88, codeHeader: 32, codeStart: 32, codeFlags: 40, codeSize: 44}},
	{[]version{{12, 4}}, constants{bytecodePositions: 24, positionFlags: 1, scriptInfos: 88, codeHeader: 32, deoptData: 8, positionTable: 16, functionData: 8}},
	{[]version{{12, 9}, {13, 6}}, constants{
		bytecodePositions: 24, positionFlags: 1, scriptInfos: 88, codeHeader: 32, deoptData: 8, positionTable: 16, functionData: 8, untrustedData: 16, scopeStart: 3, wrappedShared: 8,
	}},
	{[]version{{14, 1}, {14, 6}}, constants{
		bytecodePositions: 24, positionFlags: 2, scriptInfos: 88, codeHeader: 32, deoptData: 8, positionTable: 16, functionData: 8, untrustedData: 16, scopeStart: 3, wrappedShared: 8,
	}},
}

// hiddenBy returns the constants that a version has but does not export. It returns false if
// the version is unknown.
func hiddenBy(v version) (constants, bool) {
	i := slices.IndexFunc(editions, func(e edition) bool { return slices.Contains(e.of, v) })
	if i < 0 {
		return nil, false
	}
	return editions[i].hidden, true
}
