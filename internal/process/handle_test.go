package process

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

func TestExecStartsANewLifeWithoutMappings(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	first := table.Process(4242)
	later := first.since + 1
	table.Handle(execAt(later, 4242, "sh"))
	second := table.Process(4242)
	if second == first || second.Index == first.Index {
		t.Error("exec did not start a new row")
	}
	if second.PID != 4242 || second.NSPID != 1 || second.Comm != "sh" || second.Cgroup != first.Cgroup {
		t.Errorf("after exec: pid %d, nspid %d, comm %q, cgroup %q", second.PID, second.NSPID, second.Comm, second.Cgroup)
	}
	if got := pathAt(t, table, second, 0x400000); got != "" {
		t.Errorf("the old program's %s is still mapped", got)
	}
	if got := pathAt(t, table, first, 0x400000); got != "/usr/sbin/nginx" || first.Comm != "nginx" {
		t.Errorf("the old life is %s with %q mapped; want nginx unchanged", first.Comm, got)
	}
	table.Handle(mmapAt(later+1, 4242, 0x500000, 0x1000, 77, "/bin/sh"))
	if got := pathAt(t, table, second, 0x500fff); got != "/bin/sh" {
		t.Errorf("the new program is %q", got)
	}
}

func TestForkCopiesAndThenPartsFromItsParent(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	parent := table.Process(1)
	at := parent.since + 1
	table.Handle(forkAt(at, 1, 2000))
	child := table.Process(2000)
	if child.Comm != "systemd" || child.NSPID != 2000 || child.Cgroup != "/init.scope" || child.Index == parent.Index {
		t.Errorf("child: comm %q, nspid %d, cgroup %q", child.Comm, child.NSPID, child.Cgroup)
	}
	const text, libc = 0x55a493272000, 0x7fe3ec297000
	if got := pathAt(t, table, child, text); got != "/usr/lib/systemd/systemd" {
		t.Errorf("the child's program is %q", got)
	}
	// Exactly where others are, so that there is no need for a longer list.
	table.Handle(mmapAt(at+1, 2000, text, 0x5000, 5, "/child"))
	table.Handle(mmapAt(at+2, 1, libc, 0x156000, 6, "/parent"))
	for _, test := range []struct {
		p    *Process
		pc   uint64
		want string
	}{
		{child, text, "/child"},
		{child, libc, "/usr/lib/x86_64-linux-gnu/libc.so.6"},
		{parent, text, "/usr/lib/systemd/systemd"},
		{parent, libc, "/parent"},
	} {
		if got := pathAt(t, table, test.p, test.pc); got != test.want {
			t.Errorf("process %d at %#x: %q; want %q", test.p.PID, test.pc, got, test.want)
		}
	}
}

func TestAChildInAContainerWhoseNumberNobodyToldHasNone(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	parent := table.Process(4242)
	table.Handle(forkAt(parent.since+1, 4242, 2000))
	if got := table.Process(2000).NSPID; got != 0 {
		t.Errorf("NSPID = %d of a vanished process; want 0", got)
	}
	table.Handle(&perfevent.Namespaces{
		Header: header(unix.PERF_RECORD_NAMESPACES, parent.since+2),
		PID:    2000, TID: 2000,
		Links: make([]perfevent.Namespace, perfevent.NamespaceCgroup+1),
	})
	if p := table.Process(2000); p.mntNS != 0 || p.NSPID != 0 {
		t.Errorf("after NAMESPACES: mount namespace %d, NSPID %d", p.mntNS, p.NSPID)
	}
}

func TestAThreadIsNoProcess(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	p := table.Process(1)
	before := table.Processes()
	record := forkAt(p.since+1, 1, 1)
	record.TID = 9
	table.Handle(record)
	exit := exitAt(p.since+2, 1)
	exit.TID = 9
	table.Handle(exit)
	comm := execAt(p.since+3, 1, "worker")
	comm.Exec, comm.TID = false, 9
	table.Handle(comm)
	if table.Processes() != before || p.exited || p.Comm != "systemd" {
		t.Errorf("%d processes, not %d; exited %t; comm %q", table.Processes(), before, p.exited, p.Comm)
	}
	comm.TID = 1
	table.Handle(comm)
	if p.Comm != "worker" {
		t.Errorf("the main thread's new name is not the process's: %q", p.Comm)
	}
}

func TestRecordsOlderThanTheSnapshotAreIgnored(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	p := table.Process(1)
	version := p.Version()
	table.Handle(mmapAt(p.since-1, 1, 0x1000, 0x1000, 5, "/old"))
	table.Handle(execAt(p.since-1, 1, "old"))
	table.Handle(forkAt(p.since-1, 2, 1))
	if table.Process(1) != p || p.Comm != "systemd" || p.Version() != version {
		t.Errorf("old records made it %q", table.Process(1).Comm)
	}
	table.Handle(mmapAt(p.since, 1, 0x1000, 0x1000, 5, "/new"))
	if got := pathAt(t, table, p, 0x1000); got != "/new" {
		t.Errorf("a record of the snapshot's own time gave %q", got)
	}
}

func TestARecordThatSaysWhatIsKnownKeepsTheVersion(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	p := table.Process(500)
	table.Handle(mmapAt(p.since+1, 500, 0x10000, 0x1000, 5, "/a"))
	version := p.Version()
	table.Handle(mmapAt(p.since+2, 500, 0x10000, 0x1000, 5, "/a"))
	if p.Version() != version {
		t.Error("the same mapping again changed the version")
	}
	table.Handle(mmapAt(p.since+3, 500, 0x10000, 0x1000, 6, "/b"))
	if p.Version() == version {
		t.Error("another file kept the version")
	}
	if got := pathAt(t, table, p, 0x10000); got != "/b" {
		t.Errorf("mapped is %q; want /b", got)
	}
}

func TestMappingsThatAreNotExecutableMakeHoles(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	p := table.Process(500)
	data := mmapAt(p.since+1, 500, 0x400000, 0x800, 5, "/data")
	data.Prot = unix.PROT_READ
	table.Handle(data)
	if got := pathAt(t, table, p, 0x400000); got != "" {
		t.Errorf("below data is still %q", got)
	}
	if got := pathAt(t, table, p, 0x400800); got != "/usr/bin/server" {
		t.Errorf("behind data is %q", got)
	}
}

func TestAMappingBeyondTheEndOfMemoryIsIgnored(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	p := table.Process(500)
	table.Handle(mmapAt(p.since+1, 500, 1<<64-0x1000, 0x2000, 5, "/x"))
	table.Handle(mmapAt(p.since+1, 500, 0x9000, 0, 5, "/x"))
	if len(p.mappings) != 1 {
		t.Errorf("%d mappings; want the one of the fixture", len(p.mappings))
	}
}

func TestAPidThatIsUsedAgainIsANewProcess(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	old := table.Process(500)
	table.Handle(exitAt(old.since+1, 500))
	if table.Process(500) != old || !old.exited {
		t.Error("an exited process is not kept for late samples")
	}
	table.Handle(forkAt(old.since+2, 1, 500))
	if next := table.Process(500); next == old || next.exited || next.Comm != "systemd" {
		t.Errorf("the next process with that pid is %q, exited %t", next.Comm, next.exited)
	}
	if old.Comm != "server" {
		t.Errorf("the old one became %q", old.Comm)
	}
}

func TestAProcessThatVanishedStillGetsItsRecords(t *testing.T) {
	table := newTestTable(t, "")
	table.Handle(mmapAt(10, 600, 0x1000, 0x1000, 5, "/short"))
	if got := pathAt(t, table, table.Process(600), 0x1000); got != "/short" {
		t.Errorf("mapped is %q; want /short", got)
	}
	table.Handle(forkAt(11, 700, 701)) // neither is known nor there
	table.Handle(execAt(12, 701, "late"))
	if got := table.Process(701).Comm; got != "late" {
		t.Errorf("comm %q; want late", got)
	}
}

func TestAGenerationTellsFilesWithTheSameInodeNumber(t *testing.T) {
	table := newTestTable(t, "")
	table.Handle(execAt(1, 600, "a"))
	for i, name := range []string{"/one", "/one", "/two"} {
		record := mmapAt(2, 600, uint64(i+1)<<12, 0x1000, 5, name)
		record.InodeGeneration = uint64(i/2 + 1)
		table.Handle(record)
	}
	p := table.Process(600)
	for i, want := range []string{"/one", "/one", "/two"} {
		if got := pathAt(t, table, p, uint64(i+1)<<12); got != want {
			t.Errorf("mapping %d is %q; want %q", i, got, want)
		}
	}
	if got := len(table.Objects()); got != 3 {
		t.Errorf("%d objects; want the kernel and two files", got)
	}
	checkBytes(t, table)
}

func TestAMissingAddressMakesTheTableReadMappingsAgain(t *testing.T) {
	now := uint64(1 << 40)
	table := NewTable(Options{Host: Host{Proc: "testdata/proc", Clock: func() uint64 { return now }}})
	t.Cleanup(table.Close)
	p := table.Process(1)
	const text = 0x55a493272000
	find := func() string {
		p.put(mapping{start: 0, end: 1 << 63}) // as if their records were lost
		return pathAt(t, table, p, text)
	}
	now += minPause - 1
	if got := find(); got != "" {
		t.Errorf("/proc was read again too soon for %q", got)
	}
	table.Handle(&perfevent.Lost{Lost: 3})
	if got := find(); got != "/usr/lib/systemd/systemd" {
		t.Errorf("after a loss the program is %q", got)
	}
	if got := find(); got != "" {
		t.Errorf("/proc was read twice for one loss, for %q", got)
	}
	now += minPause
	if got := find(); got != "/usr/lib/systemd/systemd" {
		t.Errorf("after a while the program is %q", got)
	}
	for range 3 {
		now = p.missing.again
		if got := pathAt(t, table, p, 0x1234); got != "" {
			t.Errorf("at an address that nobody maps is %q", got)
		}
	}
	if p.missing.pause != 8*minPause {
		t.Errorf("after three addresses that nobody maps the pause is %d ns; want %d", p.missing.pause, 8*minPause)
	}
}

func TestMappingsAreReadSoonWhereAThreadRan(t *testing.T) {
	now := uint64(1 << 40)
	table := NewTable(Options{Host: Host{Proc: "testdata/proc", Clock: func() uint64 { return now }}})
	t.Cleanup(table.Close)
	p := table.Process(1)
	const text = 0x55a493272000
	ran := func() bool {
		p.put(mapping{start: 0, end: 1 << 63}) // as if another process had mapped it
		return p.Ran(text)
	}
	if !ran() {
		t.Error("/proc is not read the first time")
	}
	if !p.Ran(text) {
		t.Error("what was read is not known")
	}
	now += minMissedPause - 1
	if ran() {
		t.Error("/proc was read again too soon")
	}
	now++
	if !ran() {
		t.Error("/proc is not read again later")
	}
	for range 3 {
		now = p.missed.again
		if p.Ran(0x1234) {
			t.Error("an address that nobody maps is mapped")
		}
	}
	if p.missed.pause != 8*minMissedPause {
		t.Errorf("after three addresses that nobody maps the pause is %d ns; want %d", p.missed.pause, 8*minMissedPause)
	}
}

// The ring still holds an exec when the mappings are read again.
func TestReadingMappingsAgainHidesNoExec(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	first := table.Process(1)
	first.missing.again = 0
	pathAt(t, table, first, 0x1234)
	table.Handle(execAt(first.since+1, 1, "next"))
	if p := table.Process(1); p == first || p.Comm != "next" || first.Comm != "systemd" {
		t.Errorf("after exec it is %q, before %q", p.Comm, first.Comm)
	}
}

func TestWhatTakesLongIsRefusedWhileItMustBeBrief(t *testing.T) {
	table := newTestTable(t, "testdata/proc")
	table.CachedOnly(true)
	if p := table.Process(4242); p.PID != -1 || !table.Refused() {
		t.Errorf("process %d was read from /proc", p.PID)
	}
	table.CachedOnly(false)
	p := table.Process(4242)
	if p.PID != 4242 || table.Refused() {
		t.Fatalf("process %d, refused %v", p.PID, table.Refused())
	}
	table.CachedOnly(true)
	if table.Process(4242) != p || table.Refused() {
		t.Error("a process that is known was refused")
	}
	if _, ok := p.Find(0x400000); ok || !table.Refused() {
		t.Error("a file was looked at for the first time")
	}
	table.CachedOnly(false)
	if got := pathAt(t, table, p, 0x400000); got == "" {
		t.Error("nothing is found where it may take long")
	}
	table.CachedOnly(true)
	if _, ok := p.Find(0x400000); !ok || table.Refused() {
		t.Error("a file that is known was refused")
	}
}
