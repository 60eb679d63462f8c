package process

import (
	"fmt"
	"strconv"
	"strings"
)

// Descriptors returns a process's open file descriptors in ascending order.
func (h Host) Descriptors(pid int) ([]int, error) { return h.files().Descriptors(pid) }

// DescriptorPath returns the name of the magic link to a descriptor's file. The link's text
// says what the file is (proc_pid_fd(5)).
func (h Host) DescriptorPath(pid, fd int) string { return h.Path(pid, "fd/"+strconv.Itoa(fd)) }

// DescriptorInfo is the content of /proc/PID/fdinfo/FD (proc_pid_fdinfo(5)).
type DescriptorInfo struct {
	Position uint64   // of the next read or write, in bytes
	Flags    int      // of open(2)
	Inode    uint64   // of the file; 0 if it is unknown
	Watched  []int    // descriptors watched by an epoll instance, as numbered when they were added
	Locks    []string // locks on the file, as in /proc/locks
}

// DescriptorInfo reads /proc/PID/fdinfo/FD.
func (h Host) DescriptorInfo(pid, fd int) (DescriptorInfo, error) {
	text, err := h.Read(pid, "fdinfo/"+strconv.Itoa(fd))
	info := parseDescriptorInfo(string(text))
	if err == nil && info.Inode == 0 { // fdinfo has the inode since Linux 5.14
		info.Inode = h.Inode(fmt.Sprintf("%d/fd/%d", pid, fd))
	}
	return info, err
}

func parseDescriptorInfo(text string) (info DescriptorInfo) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "pos":
			info.Position, _ = strconv.ParseUint(value, 10, 64)
		case "flags":
			flags, _ := strconv.ParseUint(value, 8, 32)
			info.Flags = int(flags)
		case "ino":
			info.Inode, _ = strconv.ParseUint(value, 10, 64)
		case "tfd":
			number, _, _ := strings.Cut(value, " ")
			if fd, err := strconv.Atoi(number); err == nil {
				info.Watched = append(info.Watched, fd)
			}
		case "lock":
			info.Locks = append(info.Locks, value)
		}
	}
	return info
}
