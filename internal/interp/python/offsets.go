package python

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// debugOffsets is _Py_DebugOffsets of 3.13 (Include/internal/pycore_runtime.h), which
// _PyRuntime begins with.
type debugOffsets struct {
	Cookie                [8]byte
	Version, FreeThreaded uint64
	Runtime               struct{ Size, Finalizing, Interpreters uint64 }
	Interpreter           struct {
		Size, ID, Next, Threads, GC, Modules, Sys, Builtins, CEvalGIL uint64
		GIL, GILEnabled, GILLocked, GILHolder                         uint64
	}
	Thread struct{ Size, Prev, Next, Interpreter, Frame, ID, NativeID, Chunk, Status uint64 }
	Frame  struct{ Size, Previous, Executable, Instruction, Locals, Owner uint64 }
	Code   struct {
		Size, File, Name, QualName, Lines, First, Args, LocalNames, LocalKinds, Bytes uint64
	}
	Object      struct{ Size, Type uint64 }
	Type        struct{ Size, Name, Repr, Flags uint64 }
	Tuple, List struct{ Size, Items, Length uint64 }
	Dict        struct{ Size, Keys, Values uint64 }
	Float       struct{ Size, Value uint64 }
	Long        struct{ Size, Tag, Digits uint64 }
	Bytes       struct{ Size, Length, Value uint64 }
	Text        struct{ Size, State, Length, ASCII uint64 }
}

// cookie is what it begins with.
const cookie = "xdebugpy"

// parse decodes it, false where it is none.
func (o *debugOffsets) parse(b []byte) bool {
	return binary.Read(bytes.NewReader(b), binary.LittleEndian, o) == nil && string(o.Cookie[:]) == cookie
}

// layout is what it says; false where that can't be.
func (o *debugOffsets) layout() (layout, bool) {
	l := layout{interpreters: o.Runtime.Interpreters, interpNext: o.Interpreter.Next, interpThreads: o.Interpreter.Threads,
		threadPrev: o.Thread.Prev, threadNext: o.Thread.Next, threadFrame: o.Thread.Frame, threadID: o.Thread.ID, threadNative: o.Thread.NativeID,
		frameBack: o.Frame.Previous, frameCode: o.Frame.Executable, frameLast: o.Frame.Instruction, frameOwner: o.Frame.Owner,
		codeFirst: o.Code.First, codeFile: o.Code.File, codeName: o.Code.QualName, codeLines: o.Code.Lines, codeBytes: o.Code.Bytes,
		objects: objects{kind: o.Object.Type, bytesSize: o.Bytes.Length, bytesValue: o.Bytes.Value,
			textLength: o.Text.Length, textState: o.Text.State, ascii: o.Text.ASCII, ucs: o.Text.ASCII + wide}}
	return l, l.sane()
}

// The runtime's and an interpreter's structures are less than maxState bytes, all others
// less than maxStruct.
const (
	maxState  = 1 << 20
	maxStruct = 1 << 10
)

// sane tells whether all is within the structures' bounds.
func (l *layout) sane() bool {
	most := func(offsets ...uint64) uint64 { return slices.Max(offsets) }
	return most(l.interpreters, l.interpNext, l.interpThreads) < maxState &&
		most(l.threadSize(), l.frameSize(), l.codeSize(), l.cframeFrame) <= maxStruct &&
		most(l.kind, l.bytesSize, l.bytesValue, l.textLength, l.textState, l.ascii, l.ucs) < maxStruct
}

// threadSize is how much of a PyThreadState is read; the same of a frame and of a
// PyCodeObject.
func (l *layout) threadSize() uint64 {
	return max(l.threadPrev, l.threadNext, l.threadFrame, l.threadCFrame, l.threadID, l.threadNative) + 8
}

func (l *layout) frameSize() uint64 {
	return max(l.frameBack, l.frameCode, l.frameLast, l.frameOwner, l.frameEntry) + 8
}

func (l *layout) codeSize() uint64 {
	return max(l.kind, l.codeFirst, l.codeFile, l.codeName, l.codeLines, l.codeBytes) + 8
}
