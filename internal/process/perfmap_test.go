package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// jitTree is a /proc with one process of a container, pid 77 here and 5 there,
// that has generated code at 0x10000, and its root directory.
func jitTree(t *testing.T) (proc, root string) {
	t.Helper()
	proc = t.TempDir()
	root = filepath.Join(proc, "77/root")
	must(t, os.MkdirAll(filepath.Join(root, "tmp"), 0o755))
	uid := os.Getuid()
	status := fmt.Sprintf("Name:\tnode\nTgid:\t77\nUid:\t%d\t%d\t%d\t%d\nNSpid:\t77\t5\n", uid, uid, uid, uid)
	must(t, os.WriteFile(filepath.Join(proc, "77/status"), []byte(status), 0o644))
	must(t, os.WriteFile(filepath.Join(proc, "77/maps"), []byte("10000-20000 rwxp 00000000 00:00 0 \n"), 0o644))
	return proc, root
}

func readPerfMap(t *testing.T, o *Object) string {
	t.Helper()
	r, err := o.PerfMap()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	must(t, err)
	return string(text)
}

func TestPerfMapIsFoundInTheContainerAndKept(t *testing.T) {
	proc, root := jitTree(t)
	name := filepath.Join(root, "tmp/perf-5.map")
	must(t, os.WriteFile(name, []byte("10000 10 a\n"), 0o644))
	table := newTestTable(t, proc)
	o := objectAt(t, table, 77, 0x10010)
	if o.Kind != Anon || o.PID != 77 {
		t.Errorf("generated code is %s of process %d", o.Kind, o.PID)
	}
	if got := readPerfMap(t, o); got != "10000 10 a\n" {
		t.Errorf("perf map %q", got)
	}
	grow, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = grow.WriteString("10010 10 b\n")
	must(t, err)
	must(t, grow.Close())
	must(t, os.RemoveAll(filepath.Join(proc, "77")))
	if got := readPerfMap(t, o); got != "10000 10 a\n10010 10 b\n" {
		t.Errorf("perf map at the end %q", got)
	}
}

func TestAJitdumpFileThatIsMappedStandsInForThePerfMap(t *testing.T) {
	proc, root := jitTree(t)
	must(t, os.MkdirAll(filepath.Join(root, "work"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "work/jit-5.dump"), []byte("dump"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "work/jit-6.dump"), []byte("another's"), 0o644))
	must(t, os.WriteFile(filepath.Join(proc, "77/maps"), []byte("10000-20000 rwxp 00000000 00:00 0 \n"+
		"30000-31000 r-xp 00000000 08:01 98 /work/jit-6.dump\n40000-41000 r-xp 00000000 08:01 99 /work/jit-5.dump\n"), 0o644))
	table := newTestTable(t, proc)
	if got := readPerfMap(t, objectAt(t, table, 77, 0x10010)); got != "dump" {
		t.Errorf("the map is %q", got)
	}
}

func TestPerfMapMayComeAfterTheFirstSample(t *testing.T) {
	proc, root := jitTree(t)
	table := newTestTable(t, proc)
	o := objectAt(t, table, 77, 0x10010)
	if _, err := o.PerfMap(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("PerfMap = %v; want not exist", err)
	}
	must(t, os.WriteFile(filepath.Join(root, "tmp/perf-5.map"), []byte("late"), 0o644))
	if got := readPerfMap(t, o); got != "late" {
		t.Errorf("perf map %q", got)
	}
}

func TestPerfMapOfAChildThatRunsItsParentsCode(t *testing.T) {
	proc, root := jitTree(t)
	must(t, os.WriteFile(filepath.Join(root, "tmp/perf-5.map"), []byte("parent"), 0o644))
	table := newTestTable(t, proc)
	parent := table.Process(77)
	table.Handle(forkAt(parent.since+1, 77, 78))
	o := objectAt(t, table, 78, 0x10010)
	if got := readPerfMap(t, o); got != "parent" || o.PID != 77 {
		t.Errorf("perf map %q of process %d", got, o.PID)
	}
	table.Handle(mmapAt(parent.since+2, 78, 0x30000, 0x1000, 0, "//anon"))
	if own := objectAt(t, table, 78, 0x30000); own == o || own.PID != 78 {
		t.Errorf("the child's own code belongs to process %d", own.PID)
	}
}

func TestPerfMapIsRefusedIfItIsNone(t *testing.T) {
	proc, root := jitTree(t)
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("host"), 0o644))
	must(t, os.Symlink(secret, filepath.Join(root, "tmp/perf-5.map")))
	table := newTestTable(t, proc)
	o := objectAt(t, table, 77, 0x10010)
	if _, err := o.PerfMap(); err == nil {
		t.Error("a link was followed")
	}
	for _, o := range []*Object{table.Objects()[0], {Kind: File}} {
		if _, err := o.PerfMap(); !errors.Is(err, ErrNoImage) {
			t.Errorf("PerfMap of %s = %v; want ErrNoImage", o.Kind, err)
		}
	}
}

func TestLivePerfMapOfAnotherUserIsRefused(t *testing.T) {
	needRoot(t)
	proc, root := jitTree(t)
	name := filepath.Join(root, "tmp/perf-5.map")
	must(t, os.WriteFile(name, []byte("10000 10 fake\n"), 0o644))
	must(t, os.Chown(name, 12345, 12345))
	table := newTestTable(t, proc)
	if _, err := objectAt(t, table, 77, 0x10010).PerfMap(); !errors.Is(err, errForeign) {
		t.Errorf("PerfMap = %v; want that it is another user's", err)
	}
}
