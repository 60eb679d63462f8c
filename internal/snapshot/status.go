package snapshot

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// status reads a number of the status file of a process or thread (proc_pid_status(5)),
// the last where it has several: 0 where it can't be read.
func status(id int, field string) int {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); name == field {
			n, err := strconv.Atoi(strings.TrimSpace(value[strings.LastIndexByte(value, '\t')+1:]))
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// Comm is the name of a process or thread, "" if there is none.
func Comm(id int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// ProcessOf is the process that a thread belongs to, 0 if there is no such thread.
func ProcessOf(tid int) int { return status(tid, "Tgid") }

// namespace is the pid namespace of a process (pid_namespaces(7)), "" if it can't be
// known.
func namespace(pid int) string {
	link, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns/pid"))
	if err != nil {
		return ""
	}
	return link
}
