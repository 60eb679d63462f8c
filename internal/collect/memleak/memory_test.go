package memleak

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

func TestASampleOfAllocationsIsScaledToAll(t *testing.T) {
	r := newLeakRun(t, Options{Every: 5000}, table.Options{})
	var size, count uint64
	address := uint64(0)
	for range 60000 {
		address += 1 << 20
		r.call(leakThread{1, 1}, "malloc", 10, address, address>>20%1000)
		size, count = size+address>>20%1000, count+1
		if address>>20%3 == 0 {
			r.call(leakThread{1, 1}, "free", 0, 0, address)
			size, count = size-address>>20%1000, count-1
		}
	}
	if got := r.leaks.spaces[1].sites[0].used; got > 8000 {
		t.Errorf("%d allocations are kept of %d", got, count)
	}
	got := r.last()[10]
	for _, value := range []struct {
		what      string
		got, want float64
	}{{"bytes", float64(got.size), float64(size)}, {"allocations", float64(got.count), float64(count)}} {
		if off := value.got / value.want; off < 0.85 || off > 1.15 {
			t.Errorf("%.0f %s stand, want about %.0f", value.got, value.what, value.want)
		}
	}
}

func TestMemoryIsNeverMoreThanItMayBe(t *testing.T) {
	const bound, n = 2 << 20, 80_000
	r := newLeakRun(t, Options{}, table.Options{Memory: bound})
	for i := range uint64(n) {
		r.call(leakThread{1, 1}, "malloc", i%7+1, (i+1)*16, 1)
		if used := r.Bytes(); used > bound {
			t.Fatalf("%d bytes after %d allocations", used, i)
		}
	}
	unkept := r.Counts()[0].Unkept
	var count uint64
	for _, h := range r.last() {
		count += h.count
	}
	if unkept == 0 || count+unkept != n || r.leaks.Missed().unkept != unkept || count < bound/100 {
		t.Errorf("%d stand, %d were not kept, of %d", count, unkept, n)
	}
}

func TestMappedMemoryCountsAgainstTheLimitOfTheRuntime(t *testing.T) {
	limit := debug.SetMemoryLimit(-1)
	r := newLeakRun(t, Options{}, table.Options{})
	for i := range uint64(10 * fullSlots) {
		r.call(leakThread{1, 1}, "malloc", 1, (i+1)*16, 1)
	}
	mapped := int64(0)
	for _, chunk := range r.leaks.memory.mapped {
		mapped += int64(len(chunk))
	}
	if got := debug.SetMemoryLimit(-1); mapped == 0 || got != limit-mapped {
		t.Errorf("%d bytes are mapped, and the limit is %d lower", mapped, limit-got)
	}
	if err := r.leaks.Close(); err != nil {
		t.Fatal(err)
	}
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("after Close the limit is %d lower", limit-got)
	}
}

// A day of five-second windows in which memory comes and goes.
func TestADayOfConstantTurnoverTakesNoMoreMemory(t *testing.T) {
	const interval, intervals, hour = 5 * second, 24 * 720, 720
	r := newLeakRun(t, Options{}, table.Options{Interval: interval})
	var used []int
	for i := range uint64(intervals) {
		r.now = i * interval
		pid := 5_000_000 + uint32(i/hour) // no process of this host
		if i%hour == 0 && i > 0 {
			tabletest.Handle(t, r.Recorder, &perfevent.Exit{Header: perfevent.Header{PID: pid - 1, TID: pid - 1, Time: r.now}, PID: pid - 1, TID: pid - 1})
		}
		for k := range uint64(3) {
			// Stacks that are new each time, and some that stay.
			r.call(leakThread{pid, pid}, "malloc", 1000+i*3+k, i<<20+(k+1)<<8, 10)
			r.call(leakThread{pid, pid}, "malloc", k+1, i<<20+(k+1)<<8+16, 10)
			if i%hour >= 5 {
				r.call(leakThread{pid, pid}, "free", 0, 0, (i-5)<<20+(k+1)<<8)
				r.call(leakThread{pid, pid}, "free", 0, 0, (i-5)<<20+(k+1)<<8+16)
			}
		}
		r.Advance(r.now + interval)
		r.windows = r.windows[len(r.windows)-1:]
		if i%hour == hour-1 {
			used = append(used, r.Bytes())
			if got := standing(r.windows[0])[1]; got.count != 5 {
				t.Fatalf("after %d hours %d stand of one stack, want 5", len(used), got.count)
			}
		}
	}
	if last := used[len(used)-1]; last > used[1] {
		t.Errorf("%d bytes after the second hour, %d after a day: %v", used[1], last, used)
	}
}

// BenchmarkLeaksOfTenMillion has ten million allocations of a thousand stacks stand,
// and says what the process takes for that.
func BenchmarkLeaksOfTenMillion(b *testing.B) {
	const n, sites = 10_000_000, 1000
	for b.Loop() {
		m, before := newMemory(), resident(b)
		h := newHoldings(&leakOptions{}, m)
		rows, made := rowsOf(b, sites)
		for i := range uint64(n) {
			h.add(rows, caller{row: made[i%sites]}, 0x7f0000000000+i*48, 32, 0)
		}
		if h.unkept > 0 {
			b.Fatalf("%d are not kept", h.unkept)
		}
		b.ReportMetric(float64(m.bytes)/n, "counted-B/allocation")
		b.ReportMetric(float64(resident(b)-before)/n, "resident-B/allocation")
		for i := range uint64(n) {
			if _, _, ok := h.free(0x7f0000000000 + i*48); !ok {
				b.Fatal("one is missing")
			}
		}
		if err := m.close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/pair")
}

// maker makes the rows of its samples.
type maker struct {
	*Kernel
	rows *table.Rows
	made []table.Row
}

func (m *maker) Fold(rows *table.Rows, _ int, s *perfevent.Sample) {
	m.rows, m.made = rows, append(m.made, rows.Of(s))
}

// rowsOf makes rows of different stacks.
func rowsOf(b testing.TB, n int) (*table.Rows, []table.Row) {
	format := &ftrace.Format{Fields: []ftrace.Field{{Name: "ptr", Size: 8}}}
	formats := make([]*ftrace.Format, len(kernelTracepoints()))
	for i, t := range kernelTracepoints() {
		if t.Name == "kfree" {
			formats[i] = format
		}
	}
	kernel, err := newKernel(formats, nil, stack.Stacks{Kernel: true}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	m := &maker{Kernel: kernel}
	processes := process.NewTable(process.Options{Host: process.Host{Proc: b.TempDir()}})
	b.Cleanup(processes.Close)
	r := table.NewRecorder([]table.Collector{m}, processes, 0, table.Options{Memory: 1 << 30})
	for i := range uint64(n) {
		tabletest.Handle(b, r, tabletest.Hit(1, i, 0xffffffff81000000+i))
	}
	return m.rows, m.made
}

// resident is how many bytes of memory this process takes.
func resident(b *testing.B) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return pages * os.Getpagesize()
}
