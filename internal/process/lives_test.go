package process

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/perfevent"
)

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestShortLivesLeaveNothingBehind(t *testing.T) {
	table := newTestTable(t, "")
	table.Handle(execAt(1, 1, "init"))
	const lives, pids = 100_000, 30_000
	var early uint64
	for i := range lives {
		live(table, uint64(i+2), 2+i%pids)
		if i == lives/5 {
			early = heap()
		}
	}
	if grown := int64(heap()) - int64(early); grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes over %d lives", grown, lives*4/5)
	}
	if got := table.Processes(); got > 4*keepExited {
		t.Errorf("%d processes are remembered", got)
	}
	if got := table.Process(1).Comm; got != "init" {
		t.Errorf("the living process is %q", got)
	}
}

func TestFilesThatNobodyMapsAreForgotten(t *testing.T) {
	table := newTestTable(t, "")
	table.Handle(execAt(1, 1, "init"))
	var held []callchain.ObjectID
	table.Hold(func(hold func(callchain.ObjectID)) {
		for _, id := range held {
			hold(id)
		}
	})
	for i := range 20_000 {
		at, pid := uint64(i+2), 2+i
		table.Handle(forkAt(at, 1, pid))
		table.Handle(execAt(at, pid, "test"))
		table.Handle(mmapAt(at, pid, 0x400000, 0x1000, uint64(i+1), fmt.Sprint("/tmp/test", i)))
		if i%1000 == 0 {
			if got := pathAt(t, table, table.Process(pid), 0x400000); got != fmt.Sprint("/tmp/test", i) {
				t.Errorf("life %d runs %q", i, got)
			}
			m, _ := table.Process(pid).Find(0x400000)
			held = append(held, m.Object)
		}
		table.Handle(exitAt(at, pid))
	}
	if got := len(table.byKey); got > 4*keepExited+len(held) {
		t.Errorf("%d files are remembered", got)
	}
	if got := len(table.Objects()); got != len(held)+1 {
		t.Errorf("%d objects; want the kernel and the %d that were sampled", got, len(held))
	}
	checkBytes(t, table)
	held = nil
	table.sweep()
	if got := len(table.Objects()); got > 4 { // with those of processes that have just exited
		t.Errorf("%d objects when nobody holds frames of them", got)
	}
	checkBytes(t, table)
}

// checkBytes checks the count by which a table knows that it has too many objects.
func checkBytes(t *testing.T, table *Table) {
	t.Helper()
	cost := 0
	for k, o := range table.byKey {
		if k == o.key {
			cost += objectCost(o)
		}
	}
	if cost != table.bytes {
		t.Errorf("objects take %d bytes by the table's count; want %d", table.bytes, cost)
	}
}

func TestASampledFileOutlivesItsProcessItsNameAndTheSweep(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "prog")
	must(t, os.WriteFile(name, []byte("code"), 0o644))
	var st unix.Stat_t
	must(t, unix.Stat(name, &st))
	table := newTestTable(t, "")
	record := mmapAt(2, 600, 0x400000, 0x1000, st.Ino, name)
	record.Major, record.Minor = unix.Major(st.Dev), unix.Minor(st.Dev)

	table.Handle(execAt(1, 600, "prog"))
	table.Handle(record)
	o := objectAt(t, table, 600, 0x400000)
	id, held := o.ID, true
	table.Hold(func(hold func(callchain.ObjectID)) {
		if held {
			hold(id)
		}
	})
	must(t, os.Remove(name))
	table.Handle(exitAt(3, 600))
	for i := range 4 * keepExited {
		live(table, 4, 1000+i)
	}
	if table.byPID[600] != nil {
		t.Error("the process is still remembered")
	}
	if got := string(contents(t, o)); got != "code" {
		t.Errorf("the file reads %q", got)
	}
	table.Handle(execAt(5, 700, "prog"))
	record.PID, record.TID, record.Time = 700, 700, 6
	table.Handle(record)
	if again := objectAt(t, table, 700, 0x400000); again != o {
		t.Errorf("mapped again it is object %d, not %d", again.ID, o.ID)
	}
	held = false
	table.Handle(exitAt(7, 700))
	for i := range 4 * keepExited {
		live(table, 8, 1000+i)
	}
	if table.Objects()[id] != nil || table.files.count() != 0 {
		t.Errorf("%d files are open of an object that nothing refers to", table.files.count())
	}
}

// A host that builds runs thousands of programs a day that nobody runs again.
func TestAnUnwindTableLivesAsLongAsTheObjectIsMapped(t *testing.T) {
	name, err := os.Executable()
	must(t, err)
	var st unix.Stat_t
	must(t, unix.Stat(name, &st))
	table := NewTable(Options{Host: Host{Proc: t.TempDir()}, Unwind: true})
	t.Cleanup(table.Close)
	run := func(at uint64, pid int) bool {
		record := mmapAt(at, pid, 0x400000, 1<<20, st.Ino, name)
		record.Major, record.Minor = unix.Major(st.Dev), unix.Minor(st.Dev)
		table.Handle(execAt(at, pid, "prog"))
		table.Handle(record)
		m, ok := table.Process(pid).Find(0x400000)
		return ok && m.Table != nil
	}
	if !run(1, 600) {
		t.Fatal("no unwind table")
	}
	o := objectAt(t, table, 600, 0x400000)
	table.Hold(func(hold func(callchain.ObjectID)) { hold(o.ID) })
	table.Handle(exitAt(2, 600))
	for i := range 4 * keepExited {
		live(table, 3, 1000+i)
	}
	if o.unwind != nil {
		t.Error("the table of a program that runs no more is kept")
	}
	if !run(4, 700) || objectAt(t, table, 700, 0x400000) != o {
		t.Error("a program that runs again has no table, or is another object")
	}
}

// A host that builds: each program has a file of its own, runs once and is deleted. A
// tenth of them is sampled, and reported a thousand lives later.
func TestProgramsThatComeAndGoLeaveNoDescriptorsBehind(t *testing.T) {
	const lives, reported, budget = 40_000, 1000, 1024
	dir, err := os.MkdirTemp("/dev/shm", "") // a disk takes a millisecond for each
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	table := NewTable(Options{Host: Host{Proc: dir}, maxFiles: budget})
	t.Cleanup(table.Close)
	var held []callchain.ObjectID
	table.Hold(func(hold func(callchain.ObjectID)) {
		for _, id := range held {
			hold(id)
		}
	})
	table.Handle(execAt(1, 1, "make"))
	name := filepath.Join(dir, "program")
	var early uint64
	for i := range lives {
		must(t, os.WriteFile(name, []byte("code"), 0o600))
		var st unix.Stat_t
		must(t, unix.Stat(name, &st))
		at, pid := uint64(i+2), 2+i%30_000
		record := mmapAt(at, pid, 0x400000, 0x1000, st.Ino, name)
		record.Major, record.Minor = unix.Major(st.Dev), unix.Minor(st.Dev)
		table.Handle(forkAt(at, 1, pid))
		table.Handle(execAt(at, pid, "program"))
		table.Handle(record)
		must(t, os.Remove(name))
		if i%10 == 0 {
			o := objectAt(t, table, pid, 0x400000)
			if o.file == nil {
				t.Fatalf("program %d: %v", i, o.err)
			}
			held = append(held, o.ID)
		}
		if i%reported == 0 { // the first and the last can be read when they are reported
			for _, id := range []callchain.ObjectID{held[0], held[len(held)-1]} {
				if got := string(contents(t, table.Objects()[id])); got != "code" {
					t.Fatalf("object %d reads %q", id, got)
				}
			}
			held = held[:0]
		}
		table.Handle(exitAt(at, pid))
		if i == lives/5 {
			early = heap()
		}
	}
	if grown := int64(heap()) - int64(early); grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes over %d programs", grown, lives*4/5)
	}
	if files, objects := table.files.count(), len(table.Objects()); files > budget/2 || objects > budget/2 {
		t.Errorf("%d files are open of %d objects", files, objects)
	}
	checkBytes(t, table)
}

func TestUnknownPidsAreForgottenToo(t *testing.T) {
	table := newTestTable(t, "")
	for pid := range 50_000 {
		table.Process(pid + 1)
	}
	if got := table.Processes(); got > 4*keepExited {
		t.Errorf("%d processes are remembered", got)
	}
}

func TestProcessesWhoseExitWasLostAreForgotten(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	must(t, table.Snapshot())
	init := table.Process(1)
	for i := range 5000 { // their EXIT records are missing
		table.Handle(forkAt(init.since+1, 1, 10_000+i))
	}
	table.Handle(&perfevent.Lost{Lost: 5000})
	for i := range 20_000 {
		live(table, init.since+2, 20_000+i)
	}
	if got := table.Processes(); got > 4*keepExited {
		t.Errorf("%d processes are remembered", got)
	}
	if table.Process(1) != init || init.exited {
		t.Error("a living process was forgotten")
	}
}

// A server whose main thread has exited is sampled on and on.
func TestAProcessThatIsStillSampledIsNotForgotten(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	server := table.Process(500)
	table.Handle(exitAt(server.since+1, 500))
	init := table.Process(1)
	for i := range 20_000 {
		live(table, init.since+uint64(i), 5000+i)
		if table.Process(500) != server {
			t.Fatalf("forgotten after %d other lives", i)
		}
	}
}

func TestAProcessCannotFillTheMemoryWithFiles(t *testing.T) {
	table := newTestTable(t, "")
	table.Handle(execAt(1, 1, "init"))
	name := fmt.Sprintf("/%04000d", 0)
	for i := range uint64(20_000) {
		record := mmapAt(2, 1, (i+1)<<12, 0x1000, i+1, name)
		record.Inode = i + 1
		table.Handle(record)
	}
	if table.bytes > maxObjectBytes {
		t.Errorf("files take %d bytes", table.bytes)
	}
	p := table.Process(1)
	if got := pathAt(t, table, p, 20_000<<12); got != "[too many files]" {
		t.Errorf("beyond the bound is %q", got)
	}
	checkBytes(t, table)
}

func TestWhatStandsForTooManyFilesIsNoneOfThem(t *testing.T) {
	table := newTestTable(t, "")
	table.Handle(execAt(1, 1, "init"))
	table.bytes = maxObjectBytes
	path := filepath.Join(t.TempDir(), "readable")
	must(t, os.WriteFile(path, nil, 0o600))
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	record := mmapAt(2, 1, 1<<12, 0x1000, st.Ino, path)
	record.Major, record.Minor = unix.Major(st.Dev), unix.Minor(st.Dev)
	table.Handle(record)
	if got := table.files.count(); got != 0 {
		t.Errorf("%d files are open", got)
	}
}
