package goroutine

import (
	"encoding/binary"
	"regexp"
	"strconv"

	"github.com/ringtap/ringtap/callchain"
)

// field identifies a field of the runtime's structures.
type field int

const (
	gStackLo field = iota
	gStackHi
	gM
	gSchedSP
	gSchedPC
	gSchedG
	gSchedLR
	gSchedBP
	gSyscallSP
	gSyscallPC
	gSyscallBP
	gStatus
	gID
	gWaitSince
	gWaitReason
	gLockedM
	gTrackingSeq
	gParent
	gCreator
	gStart
	gWaiting
	mProcID
	fields
)

// names are the names of the fields in the runtime's source (runtime/runtime2.go), with the
// enclosing structures. Every known Go has all of them, except those of mayLack.
var names = [fields]string{
	gStackLo: "stack.lo", gStackHi: "stack.hi", gM: "m",
	gSchedSP: "sched.sp", gSchedPC: "sched.pc", gSchedG: "sched.g", gSchedLR: "sched.lr", gSchedBP: "sched.bp",
	gSyscallSP: "syscallsp", gSyscallPC: "syscallpc", gSyscallBP: "syscallbp",
	gStatus: "atomicstatus", gID: "goid", gWaitSince: "waitsince", gWaitReason: "waitreason", gLockedM: "lockedm",
	gTrackingSeq: "trackingSeq", gParent: "parentGoid", gCreator: "gopc", gStart: "startpc", gWaiting: "waiting",
	mProcID: "m.procid",
}

func mayLack(f field) bool { return f == gSyscallBP || f == gParent }

// absent is the offset of a field that does not exist.
const absent = -1

// maxOffset is the largest plausible offset, in bytes.
const maxOffset = 4 << 10

// layout holds the offsets of the fields, in bytes: mProcID's in a runtime.m, all others in a
// runtime.g.
type layout [fields]int16

// size returns how much of a runtime.g is read, in bytes.
func (l *layout) size() int {
	size := 0
	for f, at := range l {
		if field(f) != mProcID {
			size = max(size, int(at)+8)
		}
	}
	return size
}

// word reads a field of eight bytes, or returns 0 if the field does not exist.
func (l *layout) word(g []byte, f field) uint64 {
	if l[f] < 0 {
		return 0
	}
	return binary.LittleEndian.Uint64(g[l[f]:])
}

// oldest is the oldest known minor release; newest is in layouts_table.go.
const oldest = 18

// release holds a value that is valid for Go releases from 1.since on.
type release[T any] struct {
	since int
	what  T
}

// of returns the value in table for Go 1.minor, and false if that release is unknown.
func of[T any](table []release[T], minor int) (value T, ok bool) {
	for _, r := range table {
		if r.since <= minor {
			value, ok = r.what, true
		}
	}
	return value, ok && minor <= newest
}

// known returns the layout of a release, and its names of wait reasons.
func known(minor int, arch callchain.Arch) (l layout, reasons []string, ok bool) {
	table := layoutsAMD64
	if arch == callchain.ARM64 {
		table = layoutsARM64
	}
	if l, ok = of(table, minor); ok {
		reasons, _ = of(waitReasons, minor)
	}
	return l, reasons, ok
}

// version matches releases, their candidates, and versions derived from them: go1.26.8,
// go1.27rc1, go1.24.1 X:aliastypeparams, go1.22.3-company.
var version = regexp.MustCompile(`^go1\.(\d{1,3})(\D|$)`)

// minorOf returns the 26 of "go1.26.8". It returns false for versions between releases.
func minorOf(text string) (int, bool) {
	m := version.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	minor, err := strconv.Atoi(m[1])
	return minor, err == nil
}
