package goroutine

import (
	"encoding/binary"
	"regexp"
	"strconv"

	"github.com/ringtap/ringtap/callchain"
)

// field is something that is read of the runtime's structures.
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

// names are the fields as the runtime's source has them (runtime/runtime2.go), with
// the structures between. All but those of mayLack are in every Go that is known.
var names = [fields]string{
	gStackLo: "stack.lo", gStackHi: "stack.hi", gM: "m",
	gSchedSP: "sched.sp", gSchedPC: "sched.pc", gSchedG: "sched.g", gSchedLR: "sched.lr", gSchedBP: "sched.bp",
	gSyscallSP: "syscallsp", gSyscallPC: "syscallpc", gSyscallBP: "syscallbp",
	gStatus: "atomicstatus", gID: "goid", gWaitSince: "waitsince", gWaitReason: "waitreason", gLockedM: "lockedm",
	gTrackingSeq: "trackingSeq", gParent: "parentGoid", gCreator: "gopc", gStart: "startpc", gWaiting: "waiting",
	mProcID: "m.procid",
}

func mayLack(f field) bool { return f == gSyscallBP || f == gParent }

// absent is the offset of what a structure does not have.
const absent = -1

// maxOffset bounds the offsets that are believed, in bytes.
const maxOffset = 4 << 10

// layout says where the fields are: bytes from the beginning of runtime.g, of mProcID
// from that of runtime.m.
type layout [fields]int16

// size is how much of a runtime.g is read.
func (l *layout) size() int {
	size := 0
	for f, at := range l {
		if field(f) != mProcID {
			size = max(size, int(at)+8)
		}
	}
	return size
}

// word reads a field of eight bytes; 0 if there is none.
func (l *layout) word(g []byte, f field) uint64 {
	if l[f] < 0 {
		return 0
	}
	return binary.LittleEndian.Uint64(g[l[f]:])
}

// oldest is the oldest release that is known; newest is in the table.
const oldest = 18

// release is what was found out about the releases of Go from 1.since on.
type release[T any] struct {
	since int
	what  T
}

// of returns what holds for a release.
func of[T any](table []release[T], minor int) (what T, ok bool) {
	for _, r := range table {
		if r.since <= minor {
			what, ok = r.what, true
		}
	}
	return what, ok && minor <= newest
}

// known returns the layout of a release, and its words for wait reasons.
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

// version matches releases, their candidates, and those that others have made from
// them: go1.26.8, go1.27rc1, go1.24.1 X:aliastypeparams, go1.22.3-company.
var version = regexp.MustCompile(`^go1\.(\d{1,3})(\D|$)`)

// minorOf is the 26 of "go1.26.8"; false for versions between releases.
func minorOf(text string) (int, bool) {
	m := version.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	minor, err := strconv.Atoi(m[1])
	return minor, err == nil
}
