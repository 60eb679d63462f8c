package process

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// mover is a program that does to its executable mappings all that mmap(2),
// mprotect(2) and dlopen(3) can, for each line it reads, and says so.
const mover = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define PAGE 4096
int main(int argc, char **argv) {
	int file = open(argv[1], O_RDONLY), mem = memfd_create("jit", 0);
	char *area = mmap(0, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ftruncate(mem, 16 * PAGE) < 0) return 1;
	srand(1);
	puts("ready"); fflush(stdout);
	if (getchar() == EOF) return 1;
	for (int i = 0; i < 300; i++) {
		int from = rand() % 56, pages = 1 + rand() % 8;
		char *at = area + from * PAGE;
		switch (rand() % 5) {
		case 0: mmap(at, pages * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0); break;
		case 1: mmap(at, pages * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, mem, PAGE * (rand() % 4)); break;
		case 2: mmap(at, pages * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); break;
		case 3: mprotect(at, pages * PAGE, PROT_READ | PROT_EXEC); break;
		case 4: munmap(at, pages * PAGE); break;
		}
	}
	dlopen("libm.so.6", RTLD_NOW);
	dlopen(argv[2], RTLD_NOW);
	puts("moved"); fflush(stdout);
	return getchar() == 'x';
}`

// What /proc says is executable must be in the model, at the same offset of
// the same file. The model may have more: there is no record of munmap(2).
func TestLiveTheModelAgreesWithProcAfterAllChanges(t *testing.T) {
	dir := t.TempDir()
	library := compile(t, dir, "libx.so", `int x(void) { return 42; }`, "-shared", "-fPIC")
	program := compile(t, dir, "mover", mover, "-ldl")
	testlimit.Lossless(t, func() uint64 { return modelAgrees(t, program, library) })
}

// modelAgrees compares the model of a running program with /proc, unless records were
// lost, and returns how many.
func modelAgrees(t *testing.T, program, library string) (lost uint64) {
	t.Helper()
	sampling := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 99, ExcludeKernel: true}
	c := start(t, exec.Command(program, program, library))
	session, err := perfevent.Open(perfevent.Process(c.Process.Pid), []perfevent.Sampling{sampling}, perfevent.Options{})
	if errors.Is(err, os.ErrPermission) {
		t.Skip("perf events of own processes: sysctl kernel.perf_event_paranoid")
	}
	must(t, err)
	defer session.Close()
	table := NewTable(Options{})
	defer table.Close()
	must(t, table.Snapshot(c.Process.Pid))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		if _, err := c.input.Write([]byte("\n")); err != nil {
			t.Error(err)
		}
		if line, err := c.output.ReadString('\n'); line != "moved\n" {
			t.Errorf("the program said %q, %v", line, err)
		}
	}()
	must(t, session.Read(ctx, func(record perfevent.Record) error {
		table.Handle(record)
		return nil
	}))
	stats, err := session.Stats()
	must(t, err)
	if stats.Lost > 0 {
		return stats.Lost
	}

	p := table.Process(c.Process.Pid)
	executable, files := 0, 0
	must(t, newProcfs(Host{}).lines(fmt.Sprintf("/proc/%d/maps", p.PID), func(line []byte) bool {
		a, ok := parseArea(line)
		if !ok || !a.Executable {
			return true
		}
		executable++
		for at := a.Start; at < a.End; at += 4096 {
			m, ok := p.Find(at)
			if !ok {
				t.Errorf("%#x is missing of %s", at, line)
				return true
			}
			o := table.Objects()[m.Object]
			if o.Kind != File {
				continue
			}
			files++
			if got, want := at-m.Start+m.Offset, at-a.Start+a.Offset; got != want || o.key.id.inode != a.id.inode {
				t.Errorf("%#x is at %#x of %s; want %#x of %s", at, got, o.Path, want, line)
			}
		}
		return true
	}))
	if executable < 6 || files < 100 {
		t.Errorf("only %d executable areas and %d pages of files: the program did not do its work", executable, files)
	}
	return 0
}

// A container's first process is born and executed while the session records.
func TestLiveAProcessInAPidNamespaceHasItsNumberThere(t *testing.T) {
	needRoot(t)
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("unshare(1): it makes the pid namespace")
	}
	dir := t.TempDir()
	program := compile(t, dir, "nssecond", waiting)
	first := filepath.Join(dir, "nsfirst")
	must(t, os.Symlink("/bin/sh", first))
	sampling := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 99}
	session, err := perfevent.Open(perfevent.System(), []perfevent.Sampling{sampling}, perfevent.Options{})
	must(t, err)
	defer session.Close()
	table := NewTable(Options{})
	defer table.Close()
	must(t, table.Snapshot())

	c := start(t, exec.Command(unshare, "-p", "-f", first, "-c", `"$0"; exit 3`, program))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	inside := map[string]int{} // by comm
	must(t, session.Read(ctx, func(record perfevent.Record) error {
		table.Handle(record)
		return nil
	}))
	for _, p := range table.byPID {
		if p.nested && p.mntNS == table.mntNS {
			inside[p.Comm] = p.NSPID
		}
	}
	if inside["nsfirst"] != 1 || inside["nssecond"] != 2 {
		t.Errorf("numbers in the namespace: %v; want nsfirst 1 and nssecond 2", inside)
	}
	if p := table.Process(c.Process.Pid); p.Comm != "unshare" || p.NSPID != p.PID {
		t.Errorf("%s, outside, is %d and not %d", p.Comm, p.NSPID, p.PID)
	}
}

func TestLiveABuildIDFindsTheSameObjectAsTheInode(t *testing.T) {
	program := compile(t, t.TempDir(), "prog", waiting, "-Wl,--build-id")
	c := start(t, exec.Command(program))
	image, err := elf.Open(program)
	must(t, err)
	defer image.Close()
	note, err := image.Section(".note.gnu.build-id").Data()
	must(t, err)
	id := note[16:] // behind three words and "GNU\0"
	table := NewTable(Options{})
	defer table.Close()
	must(t, table.Snapshot(c.Process.Pid))
	p, pc := table.Process(c.Process.Pid), c.address(t)
	want := objectAt(t, table, p.PID, pc)

	record := func(id []byte) *perfevent.Mmap {
		r := mmapAt(perfevent.Now(), p.PID, 0x10000, 0x1000, 0, program)
		r.Major, r.Minor, r.BuildID = 0, 0, id
		return r
	}
	table.Handle(record(id))
	if got := objectAt(t, table, p.PID, 0x10000); got != want {
		t.Errorf("object %d %q by build id and object %d %q by inode are one file", got.ID, got.Path, want.ID, want.Path)
	}
	other := bytes.Clone(id)
	other[0]++
	table.Handle(record(other))
	o := objectAt(t, table, p.PID, 0x10000)
	if _, _, err := o.Open(); o == want || !errors.Is(err, errReplaced) {
		t.Errorf("the file was taken for one with another build id: %v", err)
	}
	var st unix.Stat_t
	must(t, unix.Stat(program, &st))
	if idOf(&st) != want.key.id {
		t.Errorf("the object is %v; want %v", want.key.id, idOf(&st))
	}
}
