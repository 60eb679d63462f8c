package snapshot

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/snapshot/syscalls"
)

// fileLock is one line of /proc/locks (proc_locks(5)).
type fileLock struct {
	id      string // id of the lock; waiters have the same one
	kind    string // "POSIX", "FLOCK", "OFDLCK"
	blocked bool
	pid     int    // -1 for locks of open files (OFD)
	inode   string // "08:01:42", device and inode
	extent  extent
}

// extent is the byte range of a lock: its first byte, and its last one or "EOF".
type extent struct{ first, last string }

// parseLocks parses the lines of /proc/locks, or of DescriptorInfo.Locks.
func parseLocks(text string) (locks []fileLock) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		l := fileLock{}
		if len(fields) > 1 && fields[1] == "->" {
			l.blocked = true
			fields = slices.Delete(fields, 1, 2)
		}
		if len(fields) < 8 {
			continue
		}
		pid, err := strconv.Atoi(fields[4])
		if err != nil {
			continue
		}
		l.id, l.kind, l.pid, l.inode = fields[0], fields[1], pid, fields[5]
		l.extent = extent{fields[6], fields[7]}
		locks = append(locks, l)
	}
	return locks
}

// lockHolder returns who holds the file lock that a thread waits for, or nil.
func (l *look) lockHolder(t *Thread, locks []fileLock) *Holder {
	fd := int(int32(t.args[0]))
	kind := map[string]string{"fcntl": "POSIX", "flock": "FLOCK"}[syscalls.Name(t.number)]
	if kind == "POSIX" && t.args[1] == unix.F_OFD_SETLKW {
		kind = "OFDLCK"
	}
	inode := ":" + l.inode(fd)
	asked, known := l.extent(t, kind)
	for _, waiting := range locks {
		if !waiting.blocked || waiting.kind != kind || waiting.pid != l.snapshot.PID && waiting.pid != -1 || !strings.HasSuffix(waiting.inode, inode) {
			continue
		}
		if known && waiting.extent != asked { // another thread waits for that one
			continue
		}
		for _, held := range locks {
			if !held.blocked && held.id == waiting.id && held.inode == waiting.inode {
				pid := held.pid
				if l.host().Comm(pid) == "" { // an OFD lock, or its process has ended and others share the open file
					pid = l.whoHas(held)
				}
				return &Holder{Lock: Lock{Kind: "lock on " + l.describe.File(fd)}, PID: pid, Name: l.host().Comm(pid)}
			}
		}
	}
	return nil
}

// extent returns the range that a thread wants to lock, from the struct flock of its call. known is
// false if it cannot be read or depends on the file's offset.
func (l *look) extent(t *Thread, kind string) (asked extent, known bool) {
	var b [24]byte // l_type, l_whence, l_start, l_len
	if kind == "FLOCK" || l.user.read(t.args[2], b[:]) < len(b) {
		return extent{}, false
	}
	return parseExtent(b)
}

func parseExtent(b [24]byte) (asked extent, known bool) {
	first, n := int64(binary.NativeEndian.Uint64(b[8:])), int64(binary.NativeEndian.Uint64(b[16:]))
	if binary.NativeEndian.Uint16(b[2:]) != unix.SEEK_SET || n < 0 {
		return extent{}, false
	}
	asked = extent{strconv.FormatInt(first, 10), "EOF"}
	if n > 0 {
		asked.last = strconv.FormatInt(first+n-1, 10)
	}
	return asked, true
}

// inode returns the inode number of a descriptor's file (proc_pid_fdinfo(5)), or "".
func (l *look) inode(fd int) string {
	info, err := l.host().DescriptorInfo(l.user.pid, fd)
	if err != nil || info.Inode == 0 {
		return ""
	}
	return strconv.FormatUint(info.Inode, 10)
}

// whoHas returns the process whose open file holds a lock. If several processes share it, whoHas
// returns the one from which the others inherited it. It returns 0 if there is none.
func (l *look) whoHas(lock fileLock) int {
	pids, err := l.host().Processes()
	if err != nil {
		return 0
	}
	have := slices.DeleteFunc(pids, func(pid int) bool { return !l.has(pid, lock) })
	return outermost(have, func(pid int) int {
		status, _ := l.host().Status(pid) // a process that has ended has no parent
		return status.PPID
	})
}

// has reports whether an open file of a process holds a lock.
func (l *look) has(pid int, lock fileLock) bool {
	fds, _ := l.host().Descriptors(pid) // nil if the process has ended
	return slices.ContainsFunc(fds, func(fd int) bool {
		info, _ := l.host().DescriptorInfo(pid, fd)
		return slices.ContainsFunc(parseLocks(strings.Join(info.Locks, "\n")), func(has fileLock) bool {
			return has.kind == lock.kind && has.inode == lock.inode && has.pid == lock.pid
		})
	})
}

// outermost returns the first process whose parent is not in pids, or 0 if pids is empty. Processes
// inherit open files from their parent, whose id may be higher.
func outermost(pids []int, parent func(pid int) int) int {
	for _, pid := range pids {
		if !slices.Contains(pids, parent(pid)) {
			return pid
		}
	}
	return 0
}
