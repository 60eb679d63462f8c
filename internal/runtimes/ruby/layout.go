package ruby

import "github.com/ringtap/ringtap/callchain"

// layout holds the offsets and sizes that differ among releases, in bytes.
type layout struct {
	threads uint64 // the list of threads: in a ractor; before 3.0 in the VM
	ractor  uint64 // the entry in a ractor for the VM's list of ractors; 0 before 3.0

	threadEC      uint64 // in a thread, counted from its list entry
	threadID      uint64 // pthread_self, or a pointer to the native thread that has it
	nativeID      uint64 // pthread_self in a native thread; 0: the thread has it itself
	threadBytes   uint64
	frameSize     uint64
	frameDummy    uint64 // the kind of a thread's first frame, before it calls anything
	bodyLines     uint64
	bodyCount     uint64
	bodyIndex     uint64 // 0: each line entry has its instruction's number
	bodyParent    uint64
	bodyLocal     uint64
	lineSize      uint64 // size of a line entry; its line is at lineAt
	lineAt        uint64
	stringLength  uint64 // in a String that holds its text; 0: the length is in the flags
	stringText    uint64
	qualified     bool   // methods are named with their class
	classAttached uint64 // in a singleton class: the object it belongs to
}

// layoutOf returns the layout of a release from 2.5 to 4.0.
func layoutOf(major, minor, patch int, arch callchain.Arch) (l layout, ok bool) {
	release := major*100 + minor
	if release < 205 || release > 400 || release > 207 && release < 300 || release > 304 && release < 400 {
		return l, false
	}
	l = layout{
		threads: 312, threadEC: 32, threadID: 72, frameSize: 56, frameDummy: 0x79990001,
		bodyLines: 120, bodyCount: 136, bodyIndex: 144, bodyParent: 168, bodyLocal: 176,
		lineSize: 8, stringText: 16,
	}
	mutexes, beforeRactor := uint64(2), uint64(0) // mutexes before threads, and before ractor
	if release == 205 {
		l.frameSize, l.frameDummy = 48, 0x99990001
		l.bodyLines, l.bodyCount, l.bodyIndex, l.bodyParent, l.bodyLocal = 112, 200, 0, 136, 144
		l.lineSize, l.lineAt = 12, 4
		if patch >= 4 {
			l.threads += 8
		}
	}
	if release >= 300 {
		l.threads, l.ractor, l.threadEC, l.threadID = 304, 568, 40, 80
		mutexes, beforeRactor = 1, 2
	}
	if release >= 301 {
		l.frameSize, l.lineSize = 64, 12
	}
	if release >= 302 {
		l.threadEC, l.threadID, l.nativeID = 48, 40, 8
		l.bodyLines, l.bodyCount, l.bodyIndex, l.bodyParent, l.bodyLocal = 112, 128, 136, 160, 168
		l.stringLength, l.stringText = 16, 24
	}
	if release >= 303 {
		l.threads, l.ractor, l.nativeID, l.frameSize = 256, 432, 16, 56
	}
	if release >= 304 {
		l.qualified, l.classAttached = true, 128
	}
	if release >= 400 {
		l.threads, l.ractor, l.bodyParent, l.bodyLocal = 184, 360, 168, 176
		l.classAttached = 136
		if patch >= 6 {
			l.ractor += 8
		}
	}
	if arch == callchain.ARM64 { // a pthread_mutex_t is 8 bytes larger
		l.threads += 8 * mutexes
		l.ractor += 8 * beforeRactor
	}
	l.threadBytes = max(l.threadEC, l.threadID) + 8
	return l, true
}

// Offsets in a class of its name, and of the bit that makes the name permanent, in bytes, for
// releases that name methods with their class.
const (
	classPermanent = 149
	classPath      = 152
	classSize      = 160

	permanentBit = 1
	singletonBit = 1 << 13
)
