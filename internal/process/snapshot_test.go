package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/perfevent"
)

func TestSnapshotReadsAFixtureTree(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	if err := table.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if got := table.Processes(); got != 6 {
		t.Errorf("%d processes; want 5 and swapper", got)
	}
	tests := []struct {
		pid, nspid    int
		comm, cgroup  string
		pc            uint64
		path          string
		kind          Kind
		frameOfThatPC uint64
	}{
		{0, 0, "swapper", "", 0, "", 0, 0},
		{1, 1, "systemd", "/init.scope", 0x55a493272010, "/usr/lib/systemd/systemd", File, 0x2010},
		{1, 1, "systemd", "/init.scope", 0x7fe3ec466000, "[vdso]", VDSO, 0x1000},
		{1, 1, "systemd", "/init.scope", 0xffffffffff600400, "[vsyscall]", VSyscall, 0xffffffffff600400},
		{1, 1, "systemd", "/init.scope", 0x55a493270000, "", 0, 0}, // not executable
		{2, 2, "kthreadd", "/", 0x1000, "", 0, 0},
		{77, 77, "j\nit\\1", "/user.slice", 0x400010, "/opt/a\nb", File, 0x10},
		{77, 77, "j\nit\\1", "/user.slice", 0x10000001, "[anon]", Anon, 0x10000001},
		{77, 77, "j\nit\\1", "/user.slice", 0x10010001, "[anon]", Anon, 0x10010001}, // a memfd that is no ELF file
		{77, 77, "j\nit\\1", "/user.slice", 0x10020001, "[anon]", Anon, 0x10020001},
		{77, 77, "j\nit\\1", "/user.slice", 0x10030001, "[uprobes]", Special, 0x10030001},
		{77, 77, "j\nit\\1", "/user.slice", 0x10040001, "[anon]", Anon, 0x10040001}, // shared and anonymous
		{500, 500, "server", "/system.slice/server.service", 0x400000, "/usr/bin/server", File, 0},
		{4242, 1, "nginx", "/system.slice/docker-0123.scope", 0x400000, "/usr/sbin/nginx", File, 0},
	}
	for _, test := range tests {
		p := table.Process(test.pid)
		if p.PID != test.pid || p.TGID != test.pid || p.NSPID != test.nspid || p.Comm != test.comm || p.Cgroup != test.cgroup {
			t.Errorf("%d: pid %d, nspid %d, comm %q, cgroup %q", test.pid, p.PID, p.NSPID, p.Comm, p.Cgroup)
		}
		m, ok := p.Find(test.pc)
		if ok != (test.path != "") {
			t.Errorf("%d: Find(%#x) = %t", test.pid, test.pc, ok)
		}
		if !ok {
			continue
		}
		o := table.Objects()[m.Object]
		if o.ID != m.Object || o.Path != test.path || o.Kind != test.kind {
			t.Errorf("%d: %#x is in %s %q with ID %d; want %s %q", test.pid, test.pc, o.Kind, o.Path, o.ID, test.kind, test.path)
		}
		if got := test.pc - m.Start + m.Offset; got != test.frameOfThatPC {
			t.Errorf("%d: %#x is at %#x of %s; want %#x", test.pid, test.pc, got, o.Path, test.frameOfThatPC)
		}
	}
	if !objectAt(t, table, 77, 0x400010).deleted {
		t.Error("a file that maps marks as deleted is not marked")
	}
	if got := objectAt(t, table, 77, 0x10000000).PID; got != 77 {
		t.Errorf("generated code belongs to process %d; want 77", got)
	}
}

func objectAt(t *testing.T, table *Table, pid int, pc uint64) *Object {
	t.Helper()
	m, ok := table.Process(pid).Find(pc)
	if !ok {
		t.Fatalf("%d: nothing at %#x", pid, pc)
	}
	return table.Objects()[m.Object]
}

func TestSnapshotOfGivenProcessesReadsNoOthers(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	if err := table.Snapshot(1, 99999, -5, 1<<30); err != nil {
		t.Fatal(err)
	}
	if got := table.Processes(); got != 2 {
		t.Errorf("%d processes; want 1 and swapper", got)
	}
}

func TestSnapshotNeedsProc(t *testing.T) {
	table := newTestTable(t, filepath.Join(t.TempDir(), "none"))
	if err := table.Snapshot(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Snapshot without /proc = %v; want not exist", err)
	}
}

func TestAProcessWhoseMainThreadHasExitedMayBeForgotten(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	must(t, table.Snapshot())
	if !table.Process(500).exited || table.Process(4242).exited {
		t.Error("only process 500 is a zombie")
	}
}

func TestSnapshotOfAThreadIsItsProcess(t *testing.T) {
	proc := t.TempDir()
	must(t, os.Mkdir(filepath.Join(proc, "501"), 0o755))
	must(t, os.WriteFile(filepath.Join(proc, "501/status"), []byte("Name:\tx\nTgid:\t500\n"), 0o644))
	table := newTestTable(t, proc)
	must(t, table.Snapshot(501))
	if p := table.Process(501); p.PID != 500 || p != table.Process(500) {
		t.Errorf("pid %d; want 500", p.PID)
	}
}

func TestProcessIsReadWhenItIsAskedForFirst(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	if got := table.Process(4242); got.Comm != "nginx" || got != table.Process(4242) {
		t.Errorf("process 4242 is %q, or another one each time", got.Comm)
	}
	unknown := table.Process(31337)
	if unknown.Comm != ":31337" || unknown != table.Process(31337) {
		t.Errorf("an unknown process is %q, or another one each time", unknown.Comm)
	}
	if _, ok := unknown.Find(0x400000); ok {
		t.Error("an unknown process has mappings")
	}
	for _, pid := range []int{-1, 1<<32 - 1} {
		if p := table.Process(pid); p.PID != -1 {
			t.Errorf("process %d has pid %d; want -1", pid, p.PID)
		}
	}
}

func TestAnObjectThatCannotBeOpenedSaysWhy(t *testing.T) {
	// The paths of testdata/proc are a host's own: some hosts have these files.
	proc, file := t.TempDir(), filepath.Join(t.TempDir(), "server")
	must(t, os.Mkdir(filepath.Join(proc, "42"), 0o755))
	must(t, os.WriteFile(filepath.Join(proc, "42/status"), []byte("Name:\tserver\nTgid:\t42\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(proc, "42/maps"), []byte("00400000-00401000 r-xp 00000000 00:2f 904 "+file+"\n"), 0o644))
	o := objectAt(t, newTestTable(t, proc), 42, 0x400000)
	if _, _, err := o.Open(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a file that nobody has = %v; want not exist", err)
	}
	must(t, os.WriteFile(file, nil, 0o644))
	o = objectAt(t, newTestTable(t, proc), 42, 0x400000)
	if _, _, err := o.Open(); !errors.Is(err, errReplaced) {
		t.Errorf("Open of a file that has the name of another = %v; want replaced", err)
	}
	table := newTestTable(t, "testdata/proc")
	o = objectAt(t, table, 77, 0x10000000)
	if _, _, err := o.Open(); !errors.Is(err, ErrNoImage) {
		t.Errorf("Open of generated code = %v; want ErrNoImage", err)
	}
	if _, _, err := table.Objects()[callchain.Kernel].Open(); !errors.Is(err, ErrNoImage) {
		t.Errorf("Open of the kernel = %v; want ErrNoImage", err)
	}
}

// A process forks and ends while the snapshot is taken: nobody knows its name, but its
// child has one of its own.
func TestAChildWhoseParentEndsDuringTheSnapshotHasAName(t *testing.T) {
	proc := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(proc, "77"), 0o755)) // listed, and nothing is there
	child := filepath.Join(t.TempDir(), "78")
	must(t, os.MkdirAll(child, 0o755))
	must(t, os.WriteFile(filepath.Join(child, "maps"), []byte("10000-20000 rwxp 00000000 00:00 0 \n"), 0o644))
	must(t, os.WriteFile(filepath.Join(child, "status"), []byte("Name:\tchild\nTgid:\t78\n"), 0o644))
	slow := filepath.Join(proc, "10/status")
	must(t, os.MkdirAll(filepath.Dir(slow), 0o755))
	must(t, unix.Mkfifo(slow, 0o644))
	go func() {
		f, err := os.OpenFile(slow, os.O_WRONLY, 0) // waits until it is read
		if err != nil {
			t.Error(err)
			return
		}
		if err := os.Rename(child, filepath.Join(proc, "78")); err != nil {
			t.Error(err)
		}
		if _, err := f.WriteString("Name:\tslow\nTgid:\t10\n"); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	table := newTestTable(t, proc)
	born := perfevent.Now()
	must(t, table.Snapshot())
	must(t, os.RemoveAll(filepath.Join(proc, "78")))
	table.Handle(forkAt(born, 77, 78))
	if got := table.Process(78).Comm; got != "child" {
		t.Errorf("the child is %q", got)
	}
}

// What had no mappings any more when it was read may be told of by older records: one
// of its birth that names a parent nobody knows takes nothing away.
func TestAProcessThatWasReadAsItEndedKeepsItsName(t *testing.T) {
	proc := t.TempDir()
	dir := filepath.Join(proc, "78")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "status"), []byte("Name:\tchild\nTgid:\t78\n"), 0o644))
	table := newTestTable(t, proc)
	born := perfevent.Now()
	must(t, table.Snapshot())
	must(t, os.RemoveAll(dir))
	table.Handle(forkAt(born, 77, 78))
	if got := table.Process(78).Comm; got != "child" {
		t.Errorf("it is %q", got)
	}
	// The next life of the pid is another one.
	table.Handle(exitAt(born+1, 78))
	table.Handle(forkAt(born+2, 77, 78))
	if got := table.Process(78).Comm; got != ":78" {
		t.Errorf("the next one is %q", got)
	}
}
