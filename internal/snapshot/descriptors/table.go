package descriptors

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/process"
)

// Table describes the file descriptors of one process. Only one goroutine may use it.
type Table struct {
	host    process.Host
	pid     int
	names   map[int]string    // by descriptor
	sockets map[string]string // by inode; nil until one is needed
}

// Open returns the table of a process. It never fails: unreadable descriptors have no description.
func Open(host process.Host, pid int) *Table {
	return &Table{host: host, pid: pid, names: make(map[int]string)}
}

// Name describes a descriptor: "/etc/hosts", "tcp 127.0.0.1:8080 listening", "pipe 4242". It
// returns "" if the descriptor is not open or may not be read.
func (t *Table) Name(fd int) string {
	name, ok := t.names[fd]
	if !ok {
		t.names[fd] = "" // ends a cycle: an epoll instance may seem to watch itself (see watched)
		name = t.find(fd)
		t.names[fd] = name
	}
	return name
}

func (t *Table) find(fd int) string {
	link, err := os.Readlink(t.host.DescriptorPath(t.pid, fd))
	if err != nil {
		return ""
	}
	kind, number, special := strings.Cut(link, ":")
	if !special || strings.HasPrefix(link, "/") {
		return link
	}
	number = strings.Trim(number, "[]")
	switch {
	case kind == "socket":
		return t.socket(number)
	case kind == "pipe":
		return "pipe " + number
	case number == "eventpoll":
		return "epoll of " + t.watched(fd)
	}
	return number
}

// maxWatched is how many files of an epoll instance are listed.
const maxWatched = 4

// watched lists what an epoll instance watches (proc_pid_fdinfo(5)), by the descriptor numbers that
// it was given. If one was closed since, its number may now be another file, even the instance
// itself.
func (t *Table) watched(fd int) string {
	info, err := t.host.DescriptorInfo(t.pid, fd)
	if err != nil {
		return "unknown files"
	}
	var names []string
	n := len(info.Watched)
	if n == 0 {
		return "no files"
	}
	for _, watched := range info.Watched[:min(n, maxWatched)] {
		names = append(names, strings.TrimSuffix(strconv.Itoa(watched)+" "+t.Name(watched), " "))
	}
	if n > len(names) {
		names = append(names, fmt.Sprintf("… %d in all", n))
	}
	return strings.Join(names, ", ")
}
