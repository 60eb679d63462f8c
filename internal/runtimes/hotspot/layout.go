package hotspot

import "fmt"

// layout holds the offsets of fields in one virtual machine's structures, in bytes. Fields that
// the version lacks are absent.
type layout struct {
	heaps, arrayLength, arrayData           uint64 // GrowableArray<CodeHeap*>*
	heap                                    uint64 // CodeHeap*, if the machine has only one
	memory, segments, segmentBits, low, top uint64 // in a CodeHeap
	blockSize, used                         uint64 // in a HeapBlock

	blobName, blobSize, frameSize, complete uint64 // in a CodeBlob
	code, codeOffset                        uint64 // an address, or an offset
	kind, kindNMethod                       uint64 // from about JDK 23; earlier the name tells

	nmethodSize, method, compileID        uint64
	scopesPCs, scopesEnd, metadata        uint64 // offsets from the blob
	scopesBegin, scopesData               uint64 // an address, or an offset
	immutable, mutable, relocation        uint64
	pcDescSize, pcOffset, decode          uint64
	interpreter, stubBuffer, stubLimit    uint64
	codeletSize, codeletText              uint64
	methodConst                           uint64
	constants, codeSize, constFlags       uint64
	nameIndex, signatureIndex, constSize  uint64
	tags, tagsData, holder, poolLength    uint64
	sourceFile, poolSize, klassSourceFile uint64
	klassName, symbolLength, symbolBody   uint64
	lineTable                             uint32 // flag of a ConstMethod
}

const absent = ^uint64(0)

// newLayout reads the offsets. The error names a missing field that ringtap can't do without.
func newLayout(t *tables) (*layout, error) {
	var missing string
	maybe := func(names ...string) uint64 {
		for _, name := range names {
			if at, ok := t.offsets[name]; ok {
				return at
			}
		}
		return absent
	}
	field := func(names ...string) uint64 {
		at := maybe(names...)
		if at == absent {
			missing = names[0]
		}
		return at
	}
	size := func(name string) uint64 {
		n := t.sizes[name]
		if n == 0 || n > 4096 {
			missing = name
		}
		return n
	}
	l := &layout{
		heaps: maybe("CodeCache::_heaps"), heap: maybe("CodeCache::_heap"),
		arrayLength: maybe("GrowableArrayBase::_len", "GenericGrowableArray::_len"), arrayData: maybe("GrowableArray<int>::_data"),
		memory: field("CodeHeap::_memory"), segments: field("CodeHeap::_segmap"), segmentBits: field("CodeHeap::_log2_segment_size"),
		low: field("VirtualSpace::_low"), top: field("VirtualSpace::_high"),
		blockSize: size("HeapBlock"), used: field("HeapBlock::Header::_used"),

		blobName: field("CodeBlob::_name"), blobSize: field("CodeBlob::_size"), frameSize: field("CodeBlob::_frame_size"),
		complete: field("CodeBlob::_frame_complete_offset"),
		code:     maybe("CodeBlob::_code_begin"), codeOffset: maybe("CodeBlob::_code_offset"),
		kind: maybe("CodeBlob::_kind"), kindNMethod: t.numbers["CodeBlobKind::Nmethod"],

		nmethodSize: size("nmethod"), method: field("nmethod::_method", "CompiledMethod::_method"), compileID: field("nmethod::_compile_id"),
		scopesPCs: field("nmethod::_scopes_pcs_offset"), scopesEnd: maybe("nmethod::_dependencies_offset"),
		metadata:    maybe("nmethod::_metadata_offset"),
		scopesBegin: maybe("CompiledMethod::_scopes_data_begin", "nmethod::_scopes_data_begin"), scopesData: maybe("nmethod::_scopes_data_offset"),
		immutable: maybe("nmethod::_immutable_data"), mutable: maybe("CodeBlob::_mutable_data"), relocation: maybe("CodeBlob::_relocation_size"),
		pcDescSize: size("PcDesc"), pcOffset: field("PcDesc::_pc_offset"), decode: field("PcDesc::_scope_decode_offset"),

		interpreter: field("AbstractInterpreter::_code"), stubBuffer: field("StubQueue::_stub_buffer"), stubLimit: field("StubQueue::_buffer_limit"),

		codeletSize: field("InterpreterCodelet::_size"), codeletText: field("InterpreterCodelet::_description"),

		methodConst: field("Method::_constMethod"),
		constants:   field("ConstMethod::_constants"), codeSize: field("ConstMethod::_code_size"),
		constFlags: field("ConstMethod::_flags", "ConstMethod::_flags._flags"),
		nameIndex:  field("ConstMethod::_name_index"), signatureIndex: field("ConstMethod::_signature_index"), constSize: size("ConstMethod"),
		tags: field("ConstantPool::_tags"), tagsData: field("Array<u1>::_data"), holder: field("ConstantPool::_pool_holder"),
		poolLength: field("ConstantPool::_length"), poolSize: size("ConstantPool"),
		sourceFile: maybe("ConstantPool::_source_file_name_index"), klassSourceFile: maybe("InstanceKlass::_source_file_name_index"),
		klassName: field("Klass::_name"), symbolLength: field("Symbol::_length"), symbolBody: field("Symbol::_body", "Symbol::_body[0]"),
	}
	for _, name := range []string{"ConstMethod::_has_linenumber_table", "ConstMethodFlags::_misc_has_linenumber_table"} {
		l.lineTable |= uint32(t.numbers[name])
	}
	switch {
	case l.heaps == absent && l.heap == absent, l.heaps != absent && (l.arrayLength == absent || l.arrayData == absent):
		missing = "CodeCache::_heaps"
	case l.code == absent && l.codeOffset == absent:
		missing = "CodeBlob::_code_begin"
	}
	if missing != "" {
		return nil, fmt.Errorf("its tables do not say where %s is", missing)
	}
	return l, nil
}
