package process

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// newTestTable returns a table on a fixture tree or, with "", on a /proc that
// has no process.
func newTestTable(t testing.TB, root string) *Table {
	t.Helper()
	if root == "" {
		root = t.TempDir()
	}
	table := NewTable(Options{Host: Host{Proc: root}})
	t.Cleanup(table.Close)
	return table
}

// Records as the kernel writes them.

func header(kind uint32, at uint64) perfevent.Header {
	return perfevent.Header{Type: perfevent.RecordType(kind), Time: at}
}

func forkAt(at uint64, parent, child int) *perfevent.Fork {
	return &perfevent.Fork{
		Header: header(unix.PERF_RECORD_FORK, at),
		PID:    uint32(child), TID: uint32(child),
		PPID: uint32(parent), PTID: uint32(parent),
	}
}

func execAt(at uint64, pid int, name string) *perfevent.Comm {
	return &perfevent.Comm{
		Header: header(unix.PERF_RECORD_COMM, at),
		PID:    uint32(pid), TID: uint32(pid),
		Exec: true, Name: []byte(name),
	}
}

func exitAt(at uint64, pid int) *perfevent.Exit {
	return &perfevent.Exit{
		Header: header(unix.PERF_RECORD_EXIT, at),
		PID:    uint32(pid), TID: uint32(pid),
	}
}

func mmapAt(at uint64, pid int, start, length, inode uint64, name string) *perfevent.Mmap {
	return &perfevent.Mmap{
		Header: header(unix.PERF_RECORD_MMAP2, at),
		PID:    uint32(pid), TID: uint32(pid),
		Addr: start, Len: length,
		Major: 8, Minor: 1, Inode: inode,
		Prot:     unix.PROT_READ | unix.PROT_EXEC,
		Filename: []byte(name),
	}
}

// pathAt is the path of the object that a process has mapped at an address.
func pathAt(t *testing.T, table *Table, p *Process, pc uint64) string {
	t.Helper()
	m, ok := p.Find(pc)
	if !ok {
		return ""
	}
	if pc < m.Start || pc >= m.End {
		t.Errorf("Find(%#x) = %#x to %#x, which does not hold it", pc, m.Start, m.End)
	}
	return table.Objects()[m.Object].Path
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
