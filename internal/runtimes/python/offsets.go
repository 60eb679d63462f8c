package python

import (
	"encoding/binary"
	"slices"
)

// debugOffsets is _Py_DebugOffsets, the start of _PyRuntime, as words
// (Include/internal/pycore_debug_offsets.h; in 3.13 pycore_runtime.h). It starts with a cookie,
// the version, and whether the build has no global lock. Then come groups of offsets, one per
// structure. A group's first word is the structure's size.
type debugOffsets []uint64

// groups holds the index of each used group's first word. threadID is the index of the thread
// id's word in its group.
type groups struct {
	interpreter, thread, frame, code, object, bytes, text int

	threadID int
}

// groupsOf returns the groups of a minor release. The runtime's group always comes first.
func groupsOf(minor int) groups {
	switch minor {
	case described:
		return groups{interpreter: 6, thread: 19, frame: 28, code: 34, object: 44, bytes: 64, text: 67, threadID: 5}
	case copies:
		return groups{interpreter: 6, thread: 22, frame: 31, code: 39, object: 50, bytes: 74, text: 77, threadID: 5}
	}
	return groups{interpreter: 6, thread: 22, frame: 39, code: 47, object: 58, bytes: 86, text: 89, threadID: 8}
}

// cookie is its first word, "xdebugpy".
const cookie = 0x7970677562656478

// parseOffsets decodes the offsets of a minor release. It returns false if b holds none.
func parseOffsets(b []byte, minor int) (debugOffsets, bool) {
	o := make(debugOffsets, len(b)/8)
	for i := range o {
		o[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return o, len(b) >= offsetsSize(minor) && o[0] == cookie && o[1]>>16 == 3<<8|uint64(minor)
}

// offsetsSize returns how many bytes of it to read.
func offsetsSize(minor int) int { return 8 * (groupsOf(minor).text + 4) }

// layout returns the layout that o describes. It returns false if an offset is impossible.
func (o debugOffsets) layout(minor int) (layout, bool) {
	g := groupsOf(minor)
	free := o[2] != 0
	interpreter, thread, frame, code, bytes, text := o[g.interpreter:], o[g.thread:], o[g.frame:], o[g.code:], o[g.bytes:], o[g.text:]
	l := layout{interpreters: o[5], interpNext: interpreter[2], interpThreads: interpreter[3],
		threadPrev: thread[1], threadNext: thread[2], threadFrame: thread[4], threadID: thread[g.threadID], threadNative: thread[g.threadID+1],
		frameBack: frame[1], frameCode: frame[2], frameLast: frame[3], frameOwner: frame[5],
		codeFile: code[1], codeName: code[3], codeLines: code[4], codeFirst: code[5], codeBytes: code[9],
		objects: objects{kind: o[g.object+1], bytesSize: bytes[1], bytesValue: bytes[2],
			textState: text[1], textLength: text[2], textKind: usualKind, ascii: text[3], ucs: text[3] + wide}}
	if free && minor >= copies {
		l.frameCopy, l.codeCopies, l.textKind = frame[7], code[10], freeKind
	}
	return l, l.sane()
}

// The structures of the runtime and of an interpreter are smaller than maxState bytes, all
// other structures smaller than maxStruct.
const (
	maxState  = 1 << 20
	maxStruct = 1 << 10
)

// sane reports whether all offsets are within these bounds.
func (l *layout) sane() bool {
	most := func(offsets ...uint64) uint64 { return slices.Max(offsets) }
	return most(l.interpreters, l.interpNext, l.interpThreads) < maxState &&
		most(l.threadSize(), l.frameSize(), l.codeSize(), l.cframeFrame) <= maxStruct &&
		most(l.kind, l.bytesSize, l.bytesValue, l.textLength, l.textState, l.ascii, l.ucs) < maxStruct
}

// threadSize, frameSize and codeSize return how much of a PyThreadState, a frame and a
// PyCodeObject is read.
func (l *layout) threadSize() uint64 {
	return max(l.threadPrev, l.threadNext, l.threadFrame, l.threadCFrame, l.threadID, l.threadNative) + 8
}

func (l *layout) frameSize() uint64 {
	return max(l.frameBack, l.frameCode, l.frameLast, l.frameOwner, l.frameEntry, l.frameCopy) + 8
}

func (l *layout) codeSize() uint64 {
	return max(l.kind, l.codeFirst, l.codeFile, l.codeName, l.codeLines, l.codeBytes, l.codeCopies) + 8
}
