package process

import (
	"strconv"
	"strings"
)

// Descriptors lists the open file descriptors of a process in ascending order.
func (h Host) Descriptors(pid int) ([]int, error) { return h.files().Descriptors(pid) }

// DescriptorPath is the name of the magic link that leads to a descriptor's file. Its
// text says what the file is (proc_pid_fd(5)).
func (h Host) DescriptorPath(pid, fd int) string { return h.Path(pid, "fd/"+strconv.Itoa(fd)) }

// DescriptorInfo is what /proc/PID/fdinfo/FD tells (proc_pid_fdinfo(5)).
type DescriptorInfo struct {
	Flags   int      // of open(2)
	Inode   uint64   // 0 before Linux 5.14
	Watched []int    // descriptors of an epoll instance, by the numbers that it was told
	Locks   []string // on the file, each as a line of /proc/locks
}

// DescriptorInfo reads what the kernel tells of a descriptor.
func (h Host) DescriptorInfo(pid, fd int) (DescriptorInfo, error) {
	text, err := h.Read(pid, "fdinfo/"+strconv.Itoa(fd))
	return parseDescriptorInfo(string(text)), err
}

func parseDescriptorInfo(text string) (info DescriptorInfo) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
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
