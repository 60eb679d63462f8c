package io

import (
	"cmp"
	"encoding/binary"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
)

// By says what splits rows, in addition to the stack.
type By string

// The ways to split rows.
const (
	ByNothing By = ""
	ByType    By = "type" // file, socket, pipe, …
	ByFD      By = "fd"   // the descriptor's number
	ByFile    By = "file" // the path, or the type if there is no path
)

// who returns the heading of the table of processes and what they read and write.
func (b By) who() string {
	switch b {
	case ByNothing:
		return "PROCESS (--by file adds the files)"
	case ByFD:
		return "PROCESS [DESCRIPTOR]"
	}
	return "PROCESS [" + strings.ToUpper(string(b)) + "]"
}

// descriptors finds out what the descriptors of processes are. It looks up a descriptor when its
// first use is handled, which is a little later than the use. The result is kept until the process
// closes the descriptor or executes another program. If the descriptor is gone by then, the call
// that made it tells the path or the type. If the number has been reused by then and no path is
// known, the new file is taken for the old one.
type descriptors struct {
	host   process.Host
	by     By
	known  map[uint32]map[int32]descriptor // by PID
	whole  map[uint32]bool                 // by PID: all descriptors of the process are known
	count  int
	labels map[[2]string]string // by what is read and what is written
	late   counter              // paths that were read later than they were used

	unnamed traffic // through descriptors that were closed before their name was found
}

// descriptor is what is known about a descriptor.
type descriptor struct {
	word   string
	path   string // by which it was opened; "" if unknown
	late   bool   // word is a path that was read later than it was used
	looked bool   // it was looked up; otherwise the call that made it says what it is
	atExec fate
}

// traffic counts calls and the bytes that they moved.
type traffic struct{ calls, bytes counter }

func (t *traffic) add(bytes uint64) {
	t.calls.add(1)
	t.bytes.add(bytes)
}

// fate says what happens to a descriptor when the process executes another program.
type fate uint8

const (
	unsure fate = iota
	stays
	closes
)

// maxLabels bounds the distinct labels of a run. They are never forgotten.
const maxLabels = 10000

// otherFiles replaces labels beyond maxLabels.
const otherFiles = "[other files]"

// maxDescriptors bounds the known descriptors: a child has copies of all its parent's. Descriptors
// beyond it are looked up at each use.
const maxDescriptors = 1 << 16

func newDescriptors(host process.Host, splitBy By) *descriptors {
	return &descriptors{host: host, by: splitBy, known: make(map[uint32]map[int32]descriptor), whole: make(map[uint32]bool), labels: make(map[[2]string]string)}
}

// descriptorBytes is the memory of a descriptor.
const descriptorBytes = 64

func (d *descriptors) bytes() int { return descriptorBytes * (d.count + 8*len(d.labels)) }

// label returns the label for the descriptors of a call. named is false if the name of one of them
// was not found.
func (d *descriptors) label(pid uint32, called *ioCalled, args []byte) (label string, named bool) {
	ends := [2]string{d.of(pid, called, called.in, args), d.of(pid, called, called.out, args)}
	named = !d.isUnnamed(ends[0]) && !d.isUnnamed(ends[1])
	if label, ok := d.labels[ends]; ok {
		return label, named
	}
	label = "[" + ends[0] + ends[1] + "]"
	switch {
	case len(d.labels) >= maxLabels:
		return otherFiles, named
	case ends[0] != "" && ends[1] != "":
		label = "[" + ends[0] + " to " + ends[1] + "]"
	}
	d.labels[ends] = label
	return label, named
}

// closed is the word for a descriptor about which nothing is known.
const closed = "closed"

// isUnnamed reports whether word means that the descriptor was closed too soon.
func (d *descriptors) isUnnamed(word string) bool {
	return word == closed || d.by == ByFile && word == "file"
}

// of returns the word for the descriptor in an argument, or "" if there is none.
func (d *descriptors) of(pid uint32, called *ioCalled, index int, args []byte) string {
	fd, ok := argument(args, index)
	switch {
	case !ok:
		return ""
	case d.by == ByFD:
		return "fd " + strconv.Itoa(int(fd))
	case called.socket:
		return "socket"
	}
	known := d.known[pid][fd]
	if known.looked {
		return known.word
	}
	word, ok := d.look(pid, fd)
	if !ok || !known.isStill(word) {
		if word = cmp.Or(known.word, closed); known.late {
			d.late.add(1)
		}
	} else {
		known.late = false
	}
	known.word, known.looked = word, true
	d.set(pid, fd, known)
	return word
}

// set stores a descriptor if there is room for it.
func (d *descriptors) set(pid uint32, fd int32, to descriptor) {
	if _, ok := d.known[pid][fd]; !ok {
		if d.isFull() {
			delete(d.whole, pid)
			return
		}
		d.count++
	}
	if d.known[pid] == nil {
		d.known[pid] = make(map[int32]descriptor)
	}
	d.known[pid][fd] = to
}

func (d *descriptors) isFull() bool { return d.count >= maxDescriptors }

// lookAll looks up all unknown descriptors of a process, as long as there is room.
func (d *descriptors) lookAll(pid uint32) {
	if d.by == ByFD {
		return // the number is all that rows show
	}
	if d.isFull() {
		return
	}
	fds, err := d.host.Descriptors(int(pid))
	if err != nil {
		return // the process has ended
	}
	for _, fd := range fds {
		if _, known := d.known[pid][int32(fd)]; known {
			continue // the calls handled so far are authoritative; the process may be ahead of them
		}
		if d.isFull() {
			return
		}
		if word, ok := d.look(pid, int32(fd)); ok {
			d.set(pid, int32(fd), descriptor{word: word, looked: true, atExec: d.fate(pid, fd)})
		}
	}
	d.whole[pid] = true
}

// fate reads the flag O_CLOEXEC from the kernel.
func (d *descriptors) fate(pid uint32, fd int) fate {
	info, err := d.host.DescriptorInfo(int(pid), fd)
	switch {
	case err != nil:
		return unsure
	case info.Flags&unix.O_CLOEXEC != 0:
		return closes
	}
	return stays
}

// born gives a child the descriptors of its parent. The parent is looked up, because it usually
// lives longer.
func (d *descriptors) born(pid, parent uint32) {
	d.forget(pid)
	if !d.whole[parent] {
		d.lookAll(parent)
	}
	for fd, known := range d.known[parent] {
		if d.isFull() {
			return
		}
		d.set(pid, fd, known)
	}
	if d.whole[parent] {
		d.whole[pid] = true
	}
}

// argument returns the descriptor in a system call's argument.
func argument(args []byte, index int) (fd int32, ok bool) {
	if index < 0 || len(args) < 8*index+8 {
		return 0, false
	}
	return int32(binary.NativeEndian.Uint64(args[8*index:])), true
}

// look asks the kernel what a descriptor is. ok is false if it was closed.
func (d *descriptors) look(pid uint32, fd int32) (word string, ok bool) {
	name := d.host.DescriptorPath(int(pid), int(fd))
	link, err := os.Readlink(name)
	if err != nil {
		return "", false
	}
	if kind, ok := strings.CutPrefix(link, "anon_inode:"); ok {
		return strings.Trim(kind, "[]"), true
	}
	word = typeOf(name)
	if d.by == ByType || !strings.HasPrefix(link, "/") {
		return word, true
	}
	return link, true
}

// typeOf returns the kind of a file. It does not ask a network file's server.
func typeOf(name string) string {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st); err != nil {
		return "file"
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFIFO:
		return "pipe"
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFBLK:
		return "block device"
	case unix.S_IFCHR:
		if isTTY(st.Rdev_major) {
			return "tty"
		}
		return "device"
	}
	return "file"
}

// isTTY reports whether a major number is a terminal's: consoles, serial lines, and both ends of
// pseudo terminals (Documentation/admin-guide/devices.txt).
func isTTY(major uint32) bool {
	return major == 2 || major == 3 || major == 4 || major == 5 || major >= 128 && major <= 143 || major == 204
}
