package python

// layout holds the offsets of fields in CPython's structures, in bytes.
type layout struct {
	interpreters uint64 // _PyRuntimeState.interpreters.head

	interpNext, interpThreads uint64 // PyInterpreterState

	// PyThreadState. 3.11 and 3.12 have threadCFrame, which points to a _PyCFrame; other
	// releases have threadFrame, which points to the frame. threadNative is the thread's id,
	// from 3.11 on.
	threadPrev, threadNext, threadFrame, threadCFrame, threadID, threadNative uint64

	cframeFrame uint64 // _PyCFrame.current_frame

	// PyFrameObject up to 3.10, later _PyInterpreterFrame. frameLast is f_lasti, prev_instr or
	// instr_ptr. frameCopy is tlbc_index in builds where threads have their own copies of the
	// instructions, otherwise 0.
	frameBack, frameCode, frameLast, frameOwner, frameEntry, frameCopy uint64

	// PyCodeObject. From 3.11 on, codeBytes is co_code_adaptive, the instructions themselves.
	// codeCopies is co_tlbc, the address of the copies.
	codeFirst, codeFile, codeName, codeLines, codeBytes, codeCopies uint64

	objects
}

// objects holds the offsets of fields in the objects with names and lines.
type objects struct {
	kind                              uint64 // PyObject.ob_type
	bytesSize, bytesValue             uint64 // PyBytesObject
	textLength, textState, ascii, ucs uint64 // PyASCIIObject; ascii is its size, ucs that of PyCompactUnicodeObject
	textKind                          uint   // the first bit of the kind in the state
}

// The first bit of the kind in a string's state. It follows two bits for interning, or one byte
// in builds without a global lock, from 3.14 on.
const (
	usualKind = 2
	freeKind  = 8
)

// The head of a string became smaller in 3.12, which removed wstr.
func objects36() objects {
	return objects{kind: 8, bytesSize: 16, bytesValue: 32, textLength: 16, textState: 32, textKind: usualKind, ascii: 48, ucs: 72}
}

func objects312() objects {
	return objects{kind: 8, bytesSize: 16, bytesValue: 32, textLength: 16, textState: 32, textKind: usualKind, ascii: 40, ucs: 40 + wide}
}

// wide is the size of what follows PyASCIIObject in a PyCompactUnicodeObject from 3.12 on: the
// length and the address of the string's UTF-8 form.
const wide = 16

// layoutOf returns the layout of a minor release before 3.13, on 64-bit machines. The numbers
// are from the debug information of 3.6.15, 3.7.16, 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1,
// which a test reads again.
func layoutOf(minor int) layout {
	switch minor {
	case 6:
		return layout{interpThreads: 8, threadNext: 8, threadFrame: 24, threadID: 152,
			frameBack: 24, frameCode: 32, frameLast: 120,
			codeFirst: 36, codeFile: 96, codeName: 104, codeLines: 112, objects: objects36()}
	case 7:
		return layout{interpreters: 24, interpThreads: 8, threadNext: 8, threadFrame: 24, threadID: 176,
			frameBack: 24, frameCode: 32, frameLast: 104,
			codeFirst: 36, codeFile: 96, codeName: 104, codeLines: 112, objects: objects36()}
	case 8, 9:
		return layout{interpreters: 32, interpThreads: 8, threadNext: 8, threadFrame: 24, threadID: 176,
			frameBack: 24, frameCode: 32, frameLast: 104,
			codeFirst: 40, codeFile: 104, codeName: 112, codeLines: 120, objects: objects36()}
	case ranges:
		return layout{interpreters: 32, interpThreads: 8, threadNext: 8, threadFrame: 24, threadID: 176,
			frameBack: 24, frameCode: 32, frameLast: 96,
			codeFirst: 40, codeFile: 104, codeName: 112, codeLines: 120, objects: objects36()}
	case locations:
		return layout{interpreters: 40, interpThreads: 16, threadNext: 8, threadCFrame: 56, threadID: 152, threadNative: 160,
			cframeFrame: 8, frameBack: 48, frameCode: 32, frameLast: 56, frameOwner: 69, frameEntry: 68,
			codeFirst: 72, codeFile: 112, codeName: 128, codeLines: 136, codeBytes: 184, objects: objects36()}
	}
	return layout{interpreters: 40, interpThreads: 72, threadNext: 8, threadCFrame: 56, threadID: 136, threadNative: 144,
		frameBack: 8, frameLast: 56, frameOwner: 70,
		codeFirst: 68, codeFile: 112, codeName: 128, codeLines: 136, codeBytes: 192, objects: objects312()}
}

// The minor releases in which frames or lines changed.
const (
	oldest    = 6
	ranges    = 10 // co_linetable instead of co_lnotab; f_lasti counts code units
	locations = 11 // co_linetable of locations; frames in chunks
	shims     = 12 // a frame without code marks where a loop begins
	described = 13 // _Py_DebugOffsets
	copies    = 14 // each thread has its own instructions, in builds without a global lock
	newest    = 15
)
