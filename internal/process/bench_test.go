package process

import (
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

func BenchmarkFind(b *testing.B) {
	table := newTestTable(b, "testdata/proc")
	p := table.Process(1)
	addresses := [...]uint64{0x55a493272000, 0x7fe3ec297000, 0x7fe3ec297100, 0x7fe3ec465000}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := p.Find(addresses[i%len(addresses)]); !ok {
			b.Fatal("not found")
		}
	}
}

// A whole short life: fork, exec, five mappings, exit.
func BenchmarkLife(b *testing.B) {
	table := newTestTable(b, "")
	table.Handle(execAt(1, 1, "init"))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		live(table, uint64(i+2), 2+i%30000)
	}
}

// live lets a child of process 1 live.
func live(table *Table, at uint64, pid int) {
	records := [...]perfevent.Record{
		forkAt(at, 1, pid),
		execAt(at, pid, "true"),
		mmapAt(at, pid, 0x400000, 0x1000, 10, "/bin/true"),
		mmapAt(at, pid, 0x7f0000000000, 0x100000, 11, "/lib/libc.so.6"),
		mmapAt(at, pid, 0x7f0000200000, 0x20000, 12, "/lib/ld.so"),
		mmapAt(at, pid, 0x7f0000300000, 0x2000, 0, "[vdso]"),
		exitAt(at, pid),
	}
	for _, record := range records {
		table.Handle(record)
	}
}

func BenchmarkSnapshotOfThisHost(b *testing.B) {
	var table *Table
	b.ReportAllocs()
	for b.Loop() {
		table = NewTable(Options{})
		if err := table.Snapshot(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		table.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(table.Processes()), "processes")
}
