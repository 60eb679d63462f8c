package python

// layout is what lies where in CPython's structures, in bytes.
type layout struct {
	interpreters uint64 // _PyRuntimeState.interpreters.head

	interpNext, interpThreads uint64 // PyInterpreterState

	// PyThreadState. threadCFrame is of 3.11 and 3.12, and leads to a _PyCFrame;
	// threadFrame is that of the frame in other releases. threadNative is the thread's
	// id, from 3.11 on.
	threadPrev, threadNext, threadFrame, threadCFrame, threadID, threadNative uint64

	cframeFrame uint64 // _PyCFrame.current_frame

	// PyFrameObject up to 3.10, later _PyInterpreterFrame. frameLast is f_lasti,
	// prev_instr or instr_ptr. frameCopy is tlbc_index, where threads have copies of the
	// instructions of their own: 0 elsewhere.
	frameBack, frameCode, frameLast, frameOwner, frameEntry, frameCopy uint64

	// PyCodeObject. codeBytes is co_code_adaptive, the instructions themselves, from 3.11
	// on; codeCopies is co_tlbc, the address of the copies.
	codeFirst, codeFile, codeName, codeLines, codeBytes, codeCopies uint64

	objects
}

// objects is what lies where in the objects that names and lines are in.
type objects struct {
	kind                              uint64 // PyObject.ob_type
	bytesSize, bytesValue             uint64 // PyBytesObject
	textLength, textState, ascii, ucs uint64 // PyASCIIObject, its size and that of PyCompactUnicodeObject
	textKind                          uint   // the bit of the state that the kind begins at
}

// Where the kind begins in the state of a string: behind two bits that tell whether it is
// interned, or behind a byte where threads run without a global lock, from 3.14 on.
const (
	usualKind = 2
	freeKind  = 8
)

// The sizes of a string's head became less with 3.12, which has no wstr.
func objects36() objects {
	return objects{kind: 8, bytesSize: 16, bytesValue: 32, textLength: 16, textState: 32, textKind: usualKind, ascii: 48, ucs: 72}
}

func objects312() objects {
	return objects{kind: 8, bytesSize: 16, bytesValue: 32, textLength: 16, textState: 32, textKind: usualKind, ascii: 40, ucs: 40 + wide}
}

// wide is what a PyCompactUnicodeObject has behind a PyASCIIObject from 3.12 on: the
// length and the address of its UTF-8 form.
const wide = 16

// layoutOf is the layout of a minor release that does not say itself, on 64-bit machines.
// They are from the debug information of 3.6.15, 3.7.16, 3.8.18, 3.9.18, 3.10.13, 3.11.7
// and 3.12.1, which a test reads again.
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

// The minor releases with which frames and lines changed.
const (
	oldest    = 6
	ranges    = 10 // co_linetable instead of co_lnotab; f_lasti counts code units
	locations = 11 // co_linetable of locations; frames in chunks
	shims     = 12 // a frame without code where a loop begins
	described = 13 // _Py_DebugOffsets
	copies    = 14 // instructions of each thread, where they run without a global lock
	newest    = 15
)
