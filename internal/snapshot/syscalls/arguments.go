package syscalls

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The kinds of arguments.
var (
	skip           = kind{}
	hexArgument    = kind{"", hexText}
	file           = kind{"", fileText}
	directory      = kind{"", directoryText}
	path           = kind{"", pathText}
	address        = kind{"", addressText}
	size           = kind{"", sizeText}
	offset         = kind{"at", decimalText}
	buffers        = kind{"", func(d *describer, i int) string { return count(d.args[i], "buffer") }}
	messages       = kind{"", func(d *describer, i int) string { return count(d.args[i], "message") }}
	timeout        = kind{"", timeoutText}
	timeval        = kind{"", timevalText}
	duration       = kind{"", durationText}
	clockDuration  = kind{"", clockText}
	milliseconds   = kind{"", millisecondsText}
	polled         = kind{"", polledText}
	selected       = kind{"", selectedText}
	child          = kind{"", childText}
	idType         = kind{"", idTypeText}
	task           = kind{"", taskText}
	fcntlCommand   = kind{"", fcntlText}
	lockKind       = kind{"", lockText}
	untilChildRuns = kind{"", func(*describer, int) string { return vforks }}
	interrupted    = kind{"", func(*describer, int) string { return "the call that a signal or a tracer interrupted" }}
	cloneFlags     = kind{"", cloneText}
	clone3Flags    = kind{"", clone3Text}
	futexOperation = kind{"", futexText}
	futexValue     = kind{"", futexValueText}
	futexTimeout   = kind{"", futexTimeoutText}
)

func hexadecimal(d *describer, i int) string { return hexText(d, i) }

func hexText(d *describer, i int) string { return fmt.Sprintf("%#x", d.args[i]) }

func decimalText(d *describer, i int) string { return strconv.FormatInt(int64(d.args[i]), 10) }

func sizeText(d *describer, i int) string { return count(d.args[i], "byte") }

func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatUint(n, 10) + " " + noun + "s"
}

func fileText(d *describer, i int) string { return d.file(int(int32(d.args[i]))) }

// file describes a descriptor: "3 → /etc/hosts".
func (d *describer) file(fd int) string {
	text := strconv.Itoa(fd)
	if d.t.File == nil {
		return text
	}
	if name := d.t.File(fd); name != "" {
		return text + " → " + name
	}
	return text
}

func directoryText(d *describer, i int) string {
	if int32(d.args[i]) == unix.AT_FDCWD {
		return ""
	}
	return fileText(d, i)
}

// maxPath is how many bytes of a path are read at most.
const maxPath = 4096

func pathText(d *describer, i int) string {
	b := make([]byte, maxPath)
	b = b[:d.read(d.args[i], b)]
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return hexText(d, i)
	}
	return strconv.Quote(string(b[:end]))
}

func (d *describer) read(addr uint64, b []byte) int {
	if addr == 0 || d.t.Memory == nil {
		return 0
	}
	return d.t.Memory(addr, b)
}

// time reads the time at the address of argument i: seconds and a fraction.
func (d *describer) time(i int) ([]uint64, bool) {
	if !d.short {
		return d.words(i, 2)
	}
	var b [8]byte
	if d.read(d.args[i], b[:]) < len(b) {
		return nil, false
	}
	seconds, fraction := binary.NativeEndian.Uint32(b[:]), binary.NativeEndian.Uint32(b[4:])
	return []uint64{uint64(int64(int32(seconds))), uint64(int64(int32(fraction)))}, true
}

// words reads the n words at the address of argument i.
func (d *describer) words(i, n int) ([]uint64, bool) {
	b := make([]byte, 8*n)
	if d.read(d.args[i], b) < len(b) {
		return nil, false
	}
	words := make([]uint64, n)
	for k := range words {
		words[k] = binary.NativeEndian.Uint64(b[8*k:])
	}
	return words, true
}

func timeoutText(d *describer, i int) string { return d.timeout(i, 1) }

func timevalText(d *describer, i int) string { return d.timeout(i, 1000) }

// timeout describes a timeout. unit is the number of nanoseconds in a unit of its second word.
func (d *describer) timeout(i int, unit uint64) string {
	if d.args[i] == 0 {
		return "no timeout"
	}
	words, ok := d.time(i)
	if !ok {
		return "a timeout"
	}
	return "timeout " + span(words[0], words[1]*unit)
}

func durationText(d *describer, i int) string {
	words, ok := d.time(i)
	if !ok {
		return hexText(d, i)
	}
	return span(words[0], words[1])
}

// clockText describes the time of clock_nanosleep(2). The second argument says whether it is a
// duration or a point in time.
func clockText(d *describer, i int) string {
	words, ok := d.time(i)
	switch {
	case !ok:
		return hexText(d, i)
	case d.args[1]&unix.TIMER_ABSTIME == 0:
		return span(words[0], words[1])
	}
	return "for " + left(int32(d.args[0]), words) + " more"
}

// left describes how long it is until a time of a clock.
func left(clock int32, moment []uint64) string {
	var now unix.Timespec
	if err := unix.ClockGettime(clock, &now); err != nil {
		return "an unknown time"
	}
	left := time.Duration(int64(moment[0])-now.Sec)*time.Second + time.Duration(int64(moment[1])-now.Nsec)
	return left.Round(time.Millisecond).String()
}

// span formats a duration of seconds and nanoseconds.
func span(seconds, nanoseconds uint64) string {
	if seconds > math.MaxInt64/uint64(time.Second) {
		return "for ever"
	}
	return (time.Duration(seconds)*time.Second + time.Duration(nanoseconds)).String()
}

func millisecondsText(d *describer, i int) string {
	if ms := int32(d.args[i]); ms >= 0 {
		return "timeout " + (time.Duration(ms) * time.Millisecond).String()
	}
	return "no timeout"
}

// maxFiles is how many descriptors of a list are described.
const maxFiles = 8

// polledText lists the descriptors of poll(2).
func polledText(d *describer, i int) string {
	n := d.args[i+1]
	b := make([]byte, 8*min(n, maxFiles))
	if n == 0 || d.read(d.args[i], b) < len(b) {
		return count(n, "file")
	}
	var fds []int
	for at := 0; at < len(b); at += 8 {
		if fd := int32(binary.NativeEndian.Uint32(b[at:])); fd >= 0 {
			fds = append(fds, int(fd))
		}
	}
	return d.list(fds, int(n))
}

// selectedText lists the descriptors of select(2). Its sets for reading, writing and exceptions are
// the arguments after the first.
func selectedText(d *describer, i int) string {
	limit := int(min(d.args[i], 1024))
	var fds []int
	for fd := range limit {
		for set := i + 1; set <= i+3; set++ {
			var b [8]byte
			if d.args[set] != 0 && d.read(d.args[set]+uint64(fd/64*8), b[:]) == 8 && binary.NativeEndian.Uint64(b[:])>>(fd%64)&1 != 0 {
				fds = append(fds, fd)
				break
			}
		}
	}
	return d.list(fds[:min(len(fds), maxFiles)], len(fds))
}

// list describes some of n descriptors.
func (d *describer) list(fds []int, n int) string {
	if n == 0 {
		return "no files"
	}
	var parts []string
	for _, fd := range fds {
		parts = append(parts, d.file(fd))
	}
	if n > len(fds) {
		parts = append(parts, fmt.Sprintf("… %d in all", n))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func taskText(d *describer, i int) string { return d.task(int(int32(d.args[i]))) }

func (d *describer) task(pid int) string {
	text := strconv.Itoa(pid)
	if d.t.Task != nil && pid > 0 {
		if name := d.t.Task(pid); name != "" {
			return text + " → " + name
		}
	}
	return text
}

func childText(d *describer, i int) string {
	switch pid := int(int32(d.args[i])); {
	case pid == -1:
		return "any child"
	case pid == 0:
		return "any child of the process group"
	case pid < 0:
		return fmt.Sprintf("any child in process group %d", -pid)
	default:
		return "child " + d.task(pid)
	}
}

// idTypeText describes the first two arguments of waitid(2).
func idTypeText(d *describer, i int) string {
	id := int(int32(d.args[i+1]))
	switch d.args[i] {
	case unix.P_ALL:
		return "any child"
	case unix.P_PID:
		return "child " + d.task(id)
	case unix.P_PGID:
		return fmt.Sprintf("any child in process group %d", id)
	}
	return "child " + d.file(id)
}

// addressText describes a socket address (connect(2)).
func addressText(d *describer, i int) string {
	b := make([]byte, min(d.args[i+1], 128))
	b = b[:d.read(d.args[i], b)]
	if len(b) < 2 {
		return hexText(d, i)
	}
	port := func() uint16 { return binary.BigEndian.Uint16(b[2:]) }
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_INET && len(b) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port()).String()
	case family == unix.AF_INET6 && len(b) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), port()).String()
	case family == unix.AF_UNIX && len(b) > 3 && b[2] == 0:
		return strconv.Quote("@" + string(b[3:]))
	case family == unix.AF_UNIX:
		name, _, _ := bytes.Cut(b[2:], []byte{0})
		return strconv.Quote(string(name))
	}
	return hexText(d, i)
}

func fcntlText(d *describer, i int) string {
	switch d.args[i] {
	case unix.F_SETLKW, unix.F_OFD_SETLKW:
		return "wait for a lock"
	}
	return "command " + decimalText(d, i)
}

// cloneText describes the first argument of clone(2), which says whether the caller waits.
func cloneText(d *describer, i int) string { return cloned(d.args[i]) }

// clone3Text describes the same flags of clone3(2), which are in a structure.
func clone3Text(d *describer, i int) string {
	words, ok := d.words(i, 1)
	if !ok {
		return hexText(d, i)
	}
	return cloned(words[0])
}

func cloned(flags uint64) string {
	if flags&unix.CLONE_VFORK != 0 {
		return vforks
	}
	return fmt.Sprintf("flags %#x", flags)
}

// vforks describes what the parent waits for.
const vforks = "until the child runs a program or ends"

func lockText(d *describer, i int) string {
	switch d.args[i] &^ unix.LOCK_NB {
	case unix.LOCK_SH:
		return "shared"
	case unix.LOCK_EX:
		return "exclusive"
	case unix.LOCK_UN:
		return "unlock"
	}
	return hexText(d, i)
}
