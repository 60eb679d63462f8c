package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/perfevent"
)

// newRecordedTable returns a table of a recording that has these files by build id.
func newRecordedTable(t *testing.T, files map[string]string) *Table {
	t.Helper()
	open := func(path string, buildID []byte) (*os.File, bool, error) {
		if name := files[string(buildID)]; name != "" {
			f, err := os.Open(name)
			return f, true, err
		}
		if len(buildID) == 0 {
			f, err := os.Open(path)
			return f, false, err
		}
		return nil, false, fs.ErrNotExist
	}
	table := NewTable(Options{Host: Host{
		Clock:     func() uint64 { return 1 },
		Recording: &Recording{Open: open, Kallsyms: func() (io.ReadCloser, error) { return nil, fs.ErrNotExist }},
	}})
	t.Cleanup(table.Close)
	return table
}

func TestARecordedProcessIsNotReadFromThisMachine(t *testing.T) {
	table := newRecordedTable(t, nil)
	p := table.Process(os.Getpid())
	if p.Comm != fmt.Sprintf(":%d", os.Getpid()) {
		t.Errorf("a process without records is called %q", p.Comm)
	}
	if _, ok := p.Find(callerPC()); ok {
		t.Error("it has this test's mappings")
	}
	if table.Host().Live() {
		t.Error("a recorded host is live")
	}
	for _, name := range []string{"self/maps", "sys/kernel/perf_event_max_stack"} {
		if _, err := table.Host().ReadFile(name); !notFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// callerPC is an address of this test's code.
func callerPC() uint64 {
	var pc uint64
	_ = Host{}.Areas(os.Getpid(), func(a *Area) bool {
		if a.Executable {
			pc = a.Start
		}
		return !a.Executable
	})
	return pc
}

func TestARecordedChildKeepsItsParentsMappings(t *testing.T) {
	table := newRecordedTable(t, nil)
	table.Handle(mmapAt(0, 10, 0x400000, 0x1000, 77, "/bin/parent")) // its name and start are not recorded
	table.Handle(forkAt(5, 10, 11))
	child := table.Process(11)
	if got := pathAt(t, table, child, 0x400000); got != "/bin/parent" {
		t.Errorf("the child has %q mapped", got)
	}
	if child.Comm != ":11" {
		t.Errorf("the child of an unknown process is called %q", child.Comm)
	}
	table.Handle(&perfevent.Lost{Header: header(2, 6), Lost: 1}) // the table then looks for processes that have vanished
	table.Handle(exitAt(7, 10))
	if got := pathAt(t, table, child, 0x400000); got != "/bin/parent" {
		t.Errorf("after lost records the child has %q mapped", got)
	}
}

func TestARecordedFileIsFoundByItsBuildIDOrItsInode(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cached, original := write("cached", "the recorded file"), write("original", "another file")
	table := newRecordedTable(t, map[string]string{"id": cached})
	var st unix.Stat_t
	must(t, unix.Stat(original, &st))
	same := mmapAt(1, 10, 0x3000, 0x1000, st.Ino, original)
	same.Major, same.Minor = unix.Major(st.Dev), unix.Minor(st.Dev)
	for i, test := range []struct {
		record *perfevent.Mmap
		id     string
		want   string // content; "" if it must not be found
	}{
		{mmapAt(1, 10, 0x1000, 0x1000, 1, original), "id", "the recorded file"},
		{mmapAt(1, 10, 0x2000, 0x1000, 2, original), "other id", ""},
		{same, "", "another file"},
		{mmapAt(1, 10, 0x4000, 0x1000, 4, original), "", ""}, // of another inode
	} {
		test.record.BuildID = []byte(test.id)
		table.Handle(test.record)
		m, ok := table.Process(10).Find(test.record.Addr)
		if !ok {
			t.Fatalf("%d: no mapping", i)
		}
		r, size, err := table.Objects()[m.Object].Open()
		if test.want == "" {
			if err == nil {
				t.Errorf("%d: a file is found", i)
			}
			continue
		}
		if err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		content := make([]byte, size)
		if _, err := r.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) || string(content) != test.want {
			t.Errorf("%d: %q, %v", i, content, err)
		}
	}
}

func TestARecordedProcessHasNoPerfMapAndNoVDSOOfThisMachine(t *testing.T) {
	name := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	if err := os.WriteFile(name, []byte("1000 10 wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	table := newRecordedTable(t, nil)
	table.Handle(mmapAt(1, os.Getpid(), 0x1000, 0x1000, 0, "//anon"))
	table.Handle(mmapAt(1, os.Getpid(), 1<<40, 0x1000, 0, "[vdso]"))
	p := table.Process(os.Getpid())
	m, _ := p.Find(0x1000)
	if _, err := table.Objects()[m.Object].PerfMap(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a perf map is found: %v", err)
	}
	m, _ = p.Find(1 << 40)
	if m.Object == callchain.Kernel {
		t.Fatal("the vdso is not mapped")
	}
	if _, _, err := table.Objects()[m.Object].Open(); err == nil {
		t.Error("this machine's vdso is taken for the recorded one")
	}
}
