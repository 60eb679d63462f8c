package offcpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// switchFormat and wakingFormat are the fields of the tracepoints that are read.
var (
	switchFormat = &ftrace.Format{System: "sched", Name: "sched_switch", ID: 1, Fields: []ftrace.Field{{Name: "prev_state", Size: 8}, {Name: "next_pid", Offset: 8, Size: 4}}}
	wakingFormat = &ftrace.Format{System: "sched", Name: "sched_waking", ID: 2, Fields: []ftrace.Field{{Name: "pid", Offset: 0, Size: 4, Signed: true}}}
)

// States of a thread that leaves a CPU.
const (
	sleeps    = 1
	dead      = 0x20
	preempted = 0x100
	runs      = 0
)

// offRun is an off-cpu collector with the records that it is given.
type offRun struct {
	*testing.T
	collector *Collector
	recorder  *table.Recorder
	windows   []*table.Window
}

func offCPU(t *testing.T, options Options, opts table.Options) *offRun {
	t.Helper()
	r := &offRun{T: t}
	options.Switch = switchFormat
	options.Stacks = stack.Stacks{Kernel: true}
	if options.Host.Proc == "" {
		options.Host.Proc = t.TempDir()
	}
	var err error
	if r.collector, err = New(options); err != nil {
		t.Fatal(err)
	}
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	opts.Memory = 64 << 20
	if opts.Emit == nil {
		opts.Emit = func(w *table.Window) { r.windows = append(r.windows, w) }
	}
	r.recorder = table.NewRecorder([]table.Collector{r.collector}, processes, 0, opts)
	return r
}

// out is a switch away from a thread, by the tracepoint and by the kernel's record.
func (r *offRun) out(tid uint32, time uint64, state uint64, stack uint64) {
	tabletest.Handle(r.T, r.recorder, switchTo(tid, time, state, 0, stack))
	tabletest.Handle(r.T, r.recorder, &perfevent.Switch{Header: perfevent.Header{PID: tid, TID: tid, Time: time}, Out: true, Preempt: state == preempted})
}

// switchTo is a sample of the tracepoint.
func switchTo(tid uint32, time, state uint64, next uint32, stack uint64) *perfevent.Sample {
	s := tabletest.Hit(tid, time, stack)
	s.Raw = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, state), next)
	return s
}

func (r *offRun) in(tid uint32, time uint64) {
	tabletest.Handle(r.T, r.recorder, &perfevent.Switch{Header: perfevent.Header{PID: tid, TID: tid, Time: time}})
}

func (r *offRun) born(tid uint32, time uint64) {
	tabletest.Handle(r.T, r.recorder, &perfevent.Fork{Header: perfevent.Header{PID: 1, TID: 1, Time: time}, PID: tid, TID: tid, PPID: 1, PTID: 1})
}

func (r *offRun) ends(tid uint32, time uint64) {
	tabletest.Handle(r.T, r.recorder, &perfevent.Exit{Header: perfevent.Header{PID: tid, TID: tid, Time: time}, PID: tid, TID: tid})
}

// values adds up a window's columns.
func values(w *table.Window) (all [4]uint64) {
	for _, row := range w.Rows {
		for i, v := range row.Values {
			all[i] += v
		}
	}
	return all
}

func TestWhatAWaitIsCountedAs(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(r *offRun)
		want [4]uint64
		note string
	}{
		{"a sleep is voluntary", func(r *offRun) { r.born(5, 1); r.in(5, 2); r.out(5, 10, sleeps, 1); r.in(5, 17) }, [4]uint64{7, 1}, ""},
		{"a preempted thread could have gone on", func(r *offRun) { r.born(5, 1); r.out(5, 10, preempted, 1); r.in(5, 17) }, [4]uint64{0, 0, 7, 1}, ""},
		{"so could one that yields", func(r *offRun) { r.born(5, 1); r.out(5, 10, runs, 1); r.in(5, 17) }, [4]uint64{0, 0, 7, 1}, ""},
		{"a wait that goes on counts up to the end", func(r *offRun) { r.born(5, 1); r.out(5, 40, sleeps, 1) }, [4]uint64{60, 1}, "one wait (0s) went on at the end"},
		{"a wait that had begun counts from the begin", func(r *offRun) { r.in(5, 30) }, [4]uint64{30, 1}, "one wait (0s) had begun before the run"},
		{"a thread that is born waits for nothing", func(r *offRun) { r.born(5, 20); r.in(5, 30) }, [4]uint64{}, ""},
		{"a thread that ends waits no more", func(r *offRun) { r.born(5, 1); r.ends(5, 8); r.out(5, 9, dead, 1) }, [4]uint64{}, ""},
		{"though it is preempted at its end", func(r *offRun) {
			r.born(5, 1)
			r.ends(5, 8)
			r.out(5, 9, preempted, 1)
			r.in(5, 11)
			r.out(5, 12, dead, 1)
		}, [4]uint64{0, 0, 2, 1}, ""},
		{"a thread id that is used again is another thread", func(r *offRun) {
			r.born(5, 1)
			r.out(5, 2, sleeps, 1)
			r.ends(5, 3)
			r.born(5, 50)
			r.in(5, 60)
		}, [4]uint64{}, ""},
		{"ringtap's own waits don't count", func(r *offRun) { r.in(7, 5); r.out(7, 10, sleeps, 1); r.in(7, 20) }, [4]uint64{}, ""},
		{"nor does a wait whose end was lost", func(r *offRun) {
			r.born(5, 1)
			r.out(5, 10, sleeps, 1)
			tabletest.Handle(r.T, r.recorder, &perfevent.Lost{Header: perfevent.Header{Time: 20}, Lost: 1})
			r.out(5, 30, sleeps, 1)
			r.in(5, 35)
		}, [4]uint64{5, 1}, "waits not counted to their end, because records of their start or end were lost: 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := offCPU(t, Options{Whole: true}, table.Options{Self: 7, Whole: true})
			test.do(r)
			whole := r.recorder.Finish(100)
			if got := values(whole); got != test.want {
				t.Errorf("columns %v, want %v", got, test.want)
			}
			for _, w := range []*table.Window{whole, r.windows[0]} {
				notes := strings.Join(slices.Concat(w.Notes, w.Details), "\n")
				if (test.note == "") != (notes == "") || !strings.Contains(notes, test.note) {
					t.Errorf("notes %q, want %q", notes, test.note)
				}
			}
		})
	}
}

func TestWindowsOfAWaitAddUpToIt(t *testing.T) {
	r := offCPU(t, Options{Whole: true}, table.Options{Interval: 100, Whole: true})
	r.born(5, 1)
	r.out(5, 50, sleeps, 1)
	r.in(5, 320)
	whole := r.recorder.Finish(400)
	want := [][4]uint64{{50, 1}, {100}, {100}, {20}}
	for i, w := range r.windows {
		if got := values(w); i >= len(want) || got != want[i] {
			t.Errorf("window %d: %v, want %v", i, got, want)
		}
	}
	if got := values(whole); got != [4]uint64{270, 1} {
		t.Errorf("the whole run has %v", got)
	}
}

func TestTheTracepointAloneTellsWhoGoesOn(t *testing.T) {
	proc := t.TempDir()
	for tid, process := range map[string]string{"8": "7", "9": "9"} {
		if err := os.MkdirAll(filepath.Join(proc, tid), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, tid, "status"), []byte("Name:\tx\nTgid:\t"+process+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := offCPU(t, Options{Whole: true, Blind: []int{}, Host: process.Host{Proc: proc}}, table.Options{Whole: true, Self: 7})
	if plan := r.collector.Plan(); plan.Switches || len(plan.Samplings) != 2 {
		t.Fatalf("%+v", plan)
	}
	r.born(5, 1)
	r.born(6, 1)
	tabletest.Handle(t, r.recorder, switchTo(5, 10, sleeps, 6, 1))
	tabletest.Handle(t, r.recorder, switchTo(6, 20, preempted, 0, 2))
	for i, next := range []uint32{5, 6, 8, 9} { // the last two waited before; 8 is our own
		idle := switchTo(0, uint64(30+10*i), runs, next, 3)
		idle.Sampling = 1
		tabletest.Handle(t, r.recorder, idle)
	}
	if got, want := values(r.recorder.Finish(100)), [4]uint64{20 + 60, 2, 20, 1}; got != want {
		t.Errorf("columns %v, want %v", got, want)
	}
}

// A run that ends shortly after a window did is not short of what waits.
func TestTheRestOfARunCountsToItsEnd(t *testing.T) {
	r := offCPU(t, Options{Whole: true}, table.Options{Interval: 100_000, Whole: true})
	r.born(5, 1)
	r.out(5, 40_000, sleeps, 1)
	whole := r.recorder.Finish(205_000)
	if got := values(whole); got != [4]uint64{165_000, 1} || len(r.windows) != 3 {
		t.Errorf("columns %v of %d windows, want a wait of 165 µs in three", got, len(r.windows))
	}
	if notes := strings.Join(whole.Details, "\n"); !strings.Contains(notes, "one wait (165µs) went on at the end") {
		t.Errorf("notes %q", notes)
	}
}

func TestShortWaitsAreLeftOut(t *testing.T) {
	r := offCPU(t, Options{Whole: true, min: 10}, table.Options{Interval: 100, Whole: true})
	r.born(5, 1)
	for i, length := range []uint64{9, 10, 3, 11} {
		at := uint64(20 * (i + 1))
		r.out(5, at, sleeps, 1)
		r.in(5, at+length)
	}
	r.out(5, 95, sleeps, 1) // 5 in the first window, 12 in all
	r.in(5, 107)
	if got := values(r.recorder.Finish(200)); got != [4]uint64{10 + 11 + 12, 3} {
		t.Errorf("columns %v, want those of three waits of 10, 11 and 12", got)
	}
}

func TestALongWaitKeepsItsStackThroughOtherWindows(t *testing.T) {
	for _, min := range []time.Duration{0, 250} { // a wait that is too short so far has no row yet
		r := offCPU(t, Options{min: min}, table.Options{Interval: 100})
		r.born(5, 1)
		r.born(6, 2)
		r.out(6, 3, sleeps, 0x1000)
		r.out(5, 4, sleeps, 0xabc)
		r.in(6, 5)
		for at := uint64(110); at < 400; at += 10 {
			r.out(6, at, sleeps, 0x2000+at) // other stacks take the places of those that are gone
			r.in(6, at+5)
		}
		r.in(5, 404)
		r.recorder.Finish(500)
		last := r.windows[len(r.windows)-1]
		if len(last.Rows) != 1 {
			t.Fatalf("longer than %d ns: %d rows, want that of the long wait", min, len(last.Rows))
		}
		frames := last.Stacks[last.Rows[0].Kernel].Frames
		if len(frames) != 1 || frames[0].Offset != 0xabc {
			t.Errorf("longer than %d ns: the wait's stack is %v, want the one that it began with", min, frames)
		}
	}
}

func TestThreadsThatDieLeaveNothing(t *testing.T) {
	r := offCPU(t, Options{Whole: true}, table.Options{Interval: 1000})
	for i := range uint32(10000) {
		tid, at := 100+i, uint64(i)*10
		r.born(tid, at+1)
		r.in(tid, at+2)
		r.out(tid, at+3, sleeps, 1)
		r.in(tid, at+5)
		r.ends(tid, at+6)
		r.out(tid, at+7, dead, 1)
	}
	if n, d := len(r.collector.threads), len(r.collector.dying); n+d != 0 {
		t.Errorf("%d threads are kept, %d that are dying", n, d)
	}
}

func TestAThreadThatIsGoneSinceALossWaitsNoMore(t *testing.T) {
	proc := t.TempDir()
	writeStat(t, proc, "6", 'S')
	r := offCPU(t, Options{Whole: true, Host: process.Host{Proc: proc}}, table.Options{Interval: 100, Whole: true})
	for _, tid := range []uint32{5, 6} {
		r.born(tid, 1)
		r.out(tid, 10, sleeps, uint64(tid))
	}
	tabletest.Handle(t, r.recorder, &perfevent.Lost{Header: perfevent.Header{Time: 20}, Lost: 3})
	if got := values(r.recorder.Finish(200)); got != [4]uint64{190, 1} {
		t.Errorf("columns %v, want the wait of the thread that is still there", got)
	}
	if len(r.collector.threads) != 1 {
		t.Errorf("%d threads are kept, want one", len(r.collector.threads))
	}
}

func writeStat(t *testing.T, proc, path string, state byte) {
	t.Helper()
	dir := filepath.Join(proc, path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stat"), fmt.Appendf(nil, "5 (a) b) %c 1 5", state), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestAThreadThatHangsDuringTheWholeRunCounts(t *testing.T) {
	proc := t.TempDir()
	for tid, state := range map[string]byte{"20": 'S', "21": 'R', "22": 'D', "23": 'S'} {
		writeStat(t, proc, "20/task/"+tid, state)
		if err := os.MkdirAll(filepath.Join(proc, tid), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, tid, "status"), []byte("Name:\tx\nTgid:\t20\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	stack := "[<0>] futex_wait+0x1/0x2\n[<0>] do_syscall_64+0x3/0x4\n"
	if err := os.WriteFile(filepath.Join(proc, "20/task/20/stack"), []byte(stack), 0o666); err != nil {
		t.Fatal(err)
	}
	r := offCPU(t, Options{Watched: []int{20}, Host: process.Host{Proc: proc}}, table.Options{Interval: 100, Whole: true})
	r.in(23, 30) // this one goes on
	whole := r.recorder.Finish(200)
	if got := values(whole); got != [4]uint64{200 + 200 + 30, 3} {
		t.Errorf("columns %v, want two waits of 200 and one of 30", got)
	}
	var traces []string
	for _, s := range whole.Stacks {
		var words []string
		for _, f := range s.Frames {
			words = append(words, whole.Labels[f.Offset])
		}
		traces = append(traces, strings.Join(words, ";"))
	}
	if want := sinceBefore + ";futex_wait;do_syscall_64"; !strings.Contains(strings.Join(traces, "\n"), want) {
		t.Errorf("stacks %q, want one of %q", traces, want)
	}
}

// startingRows is a collector that hands over its rows.
type startingRows struct {
	*Collector
	rows *table.Rows
}

func (s *startingRows) Starting(rows *table.Rows) { s.rows = rows }

// A stack that was read after the thread went on is that of a later wait.
func TestTheStackOfAnInitialWaitWasReadBeforeTheThreadWentOn(t *testing.T) {
	r := offCPU(t, Options{Whole: true}, table.Options{Whole: true})
	starting := &startingRows{Collector: r.collector}
	r.recorder = table.NewRecorder([]table.Collector{starting}, r.recorder.Processes(), 0, table.Options{Whole: true, Memory: 64 << 20, Emit: func(*table.Window) {}})
	r.recorder.Starting()
	rows := starting.rows
	kernel := func(addr uint64) []callchain.Frame {
		return []callchain.Frame{{Object: callchain.Kernel, Offset: addr}}
	}
	r.collector.found = &initialWaits{found: map[uint32]initialWait{
		3: {row: rows.Stack(3, nil, false, kernel(0x33)), wait: stack.Wait{Until: 20}},
		4: {row: rows.Stack(4, nil, false, kernel(0x44)), wait: stack.Wait{Until: 40}},
	}}
	r.in(3, 30)
	r.in(4, 30)
	whole := r.recorder.Finish(100)
	got := make(map[uint64]uint64)
	for _, row := range whole.Rows {
		id := row.Kernel
		if id < 0 {
			id = row.User
		}
		frame := whole.Stacks[id].Frames[0]
		if frame.Object != callchain.Kernel {
			frame.Offset = 0 // the label
		}
		got[frame.Offset] += row.Values[0]
	}
	if want := map[uint64]uint64{0x33: 30, 0: 30}; !maps.Equal(got, want) {
		t.Errorf("waits by the address of their stack %#v, want %#v", got, want)
	}
}

func TestAHeldCommandWaitsForNothing(t *testing.T) {
	r := offCPU(t, Options{Held: 9}, table.Options{Whole: true})
	r.in(9, 30)
	if whole := r.recorder.Finish(100); len(whole.Rows) != 0 {
		t.Errorf("rows %v", whole.Rows)
	}
}

// Where records begin later, at an alarm, it goes on, and so do its children.
func TestACommandThatHangsSinceBeforeAnAlarmCounts(t *testing.T) {
	proc := t.TempDir()
	for _, tid := range []string{"9", "10"} {
		dir := filepath.Join(proc, tid, "task", tid)
		writeStat(t, proc, filepath.Join(tid, "task", tid), 'S')
		if err := errors.Join(
			os.WriteFile(filepath.Join(proc, tid, "status"), []byte("Name:\tx\nTgid:\t"+tid+"\n"), 0o666),
			os.WriteFile(filepath.Join(dir, "children"), []byte(map[string]string{"9": "10 ", "10": ""}[tid]), 0o666),
		); err != nil {
			t.Fatal(err)
		}
	}
	r := offCPU(t, Options{Held: 9, Host: process.Host{Proc: proc}}, table.Options{Whole: true})
	r.collector.Forget(0)
	if got := values(r.recorder.Finish(100)); got != [4]uint64{200, 2} {
		t.Errorf("columns %v, want two waits of 100", got)
	}
}

// The threads are listed when an alarm is handled: some were born since what is shown
// of it began, and wait for nothing else than they were seen to.
func TestAThreadThatIsBornBeforeAnAlarmWaitsFromThereOn(t *testing.T) {
	proc := procOf(t, map[string]string{"20": "20", "21": "20"})
	r := offCPU(t, Options{Watched: []int{20}, Host: process.Host{Proc: proc}}, table.Options{Whole: true})
	r.in(20, 0)
	r.born(21, 50)
	r.out(21, 60, sleeps, 1)
	if got := values(r.recorder.Finish(100)); got != [4]uint64{40, 1} {
		t.Errorf("columns %v, want a wait of 40", got)
	}
}

// procOf makes a procfs of sleeping threads and their processes.
func procOf(t *testing.T, threads map[string]string) string {
	t.Helper()
	proc := t.TempDir()
	for tid, pid := range threads {
		writeStat(t, proc, filepath.Join(pid, "task", tid), 'S')
		writeStat(t, proc, tid, 'S')
		status := filepath.Join(proc, tid, "status")
		if err := errors.Join(os.MkdirAll(filepath.Dir(status), 0o777), os.WriteFile(status, []byte("Name:\tx\nTgid:\t"+pid+"\n"), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return proc
}

// A control group's members are known by its list: of what hangs in it there is no
// record at all, and one that joins or leaves it waits elsewhere before or after.
func TestWaitsOfAControlGroup(t *testing.T) {
	group := t.TempDir()
	has := func(tids string) {
		if err := os.WriteFile(filepath.Join(group, "cgroup.threads"), []byte(tids), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	has("20\n21\n22\n23\n7\n")
	proc := procOf(t, map[string]string{"20": "20", "21": "20", "22": "22", "23": "23", "7": "7", "30": "30"})
	r := offCPU(t, Options{Group: group, Host: process.Host{Proc: proc}}, table.Options{Whole: true, Self: 7, Interval: 100})
	r.in(21, 30)             // 20 hangs
	r.in(30, 50)             // this one joins: where it was before is not known
	r.out(22, 60, sleeps, 1) // and this one leaves
	r.out(23, 70, sleeps, 1) // this one is to end
	writeStat(t, proc, "23", 'Z')
	has("20\n21\n30\n7\n")
	whole := r.recorder.Finish(100)
	if got, want := values(whole), [4]uint64{100 + 30 + 30, 3}; got != want {
		t.Errorf("columns %v, want %v", got, want)
	}
	if notes := strings.Join(whole.Notes, "\n"); !strings.Contains(notes, "or their threads left the control group: 1") {
		t.Errorf("notes %q", notes)
	}
}

func TestOnlyTheThreadsAskedForCount(t *testing.T) {
	r := offCPU(t, Options{Watched: []int{5}, Threads: []int{5}}, table.Options{Whole: true})
	r.in(6, 30)
	r.in(5, 40)
	if got := values(r.recorder.Finish(100)); got != [4]uint64{40, 1} {
		t.Errorf("columns %v, want the wait of thread 5", got)
	}
}

func TestTheWakersStackIsJoinedUpsideDown(t *testing.T) {
	r := offCPU(t, Options{Whole: true, waking: wakingFormat}, table.Options{Whole: true})
	r.born(5, 1)
	r.out(5, 10, sleeps, 0xaa)
	waker := tabletest.Hit(8, 20, 0xb1, 0xb2)
	waker.Sampling, waker.Raw = 1, binary.LittleEndian.AppendUint32(nil, 5)
	tabletest.Handle(t, r.recorder, waker)
	r.in(5, 30)
	whole := r.recorder.Finish(100)
	if len(whole.Rows) != 1 || values(whole) != [4]uint64{20, 1} {
		t.Fatalf("rows %v", whole.Rows)
	}
	var got []string
	for _, f := range whole.Stacks[whole.Rows[0].Kernel].Frames {
		word := fmt.Sprintf("%#x", f.Offset)
		if f.Object == stack.Labels {
			word = whole.Labels[f.Offset]
		}
		got = append(got, word)
	}
	// Leaf first; return addresses are one less than the kernel's.
	if want := ":8 0xb1 0xb1 -- 0xaa"; strings.Join(got, " ") != want {
		t.Errorf("stack %q, want %q", got, want)
	}
}

// A softirq after an interrupt has nothing to do with the thread that was interrupted. One
// that the thread raised itself, as by sending to a local socket, has.
func TestAnInterruptHidesTheThreadThatItInterrupted(t *testing.T) {
	const kallsyms = "ffffffff81000000 T do_softirq\nffffffff81000100 t __irq_exit_rcu\nffffffff81000200 T schedule\n"
	format := &ftrace.Format{System: "sched", Name: "sched_waking", ID: 2, Fields: []ftrace.Field{{Name: "pid", Size: 4, Signed: true}, {Name: "common_flags", Offset: 4, Size: 1}}}
	for _, test := range []struct {
		name     string
		flags    byte
		kallsyms string
		caller   uint64
		want     bool
	}{
		{"a thread", 0, kallsyms, 0xffffffff81000180, false},
		{"a timer", 0x08, kallsyms, 0xffffffff81000180, true},
		{"a softirq after an interrupt", 0x10, kallsyms, 0xffffffff81000180, true},
		{"a softirq that the thread raised", 0x10, kallsyms, 0xffffffff81000080, false},
		{"a softirq of unknown origin", 0x10, "", 0xffffffff81000080, true},
	} {
		proc := t.TempDir()
		if err := os.WriteFile(filepath.Join(proc, "kallsyms"), []byte(test.kallsyms), 0o666); err != nil {
			t.Fatal(err)
		}
		r := offCPU(t, Options{Whole: true, waking: format, Host: process.Host{Proc: proc}}, table.Options{Whole: true})
		r.born(5, 1)
		r.out(5, 10, sleeps, 0xaa)
		waker := tabletest.Hit(8, 20, 0xffffffff81000001, test.caller)
		waker.Sampling, waker.Raw = 1, append(binary.LittleEndian.AppendUint32(nil, 5), test.flags)
		tabletest.Handle(t, r.recorder, waker)
		r.in(5, 30)
		whole := r.recorder.Finish(100)
		if len(whole.Rows) != 1 {
			t.Fatalf("%s: rows %v", test.name, whole.Rows)
		}
		var labels []string
		for _, f := range whole.Stacks[whole.Rows[0].Kernel].Frames {
			if f.Object == stack.Labels {
				labels = append(labels, whole.Labels[f.Offset])
			}
		}
		want := []string{":8", wokenBy}
		if test.want {
			want[0] = byInterrupt
		}
		if !slices.Equal(labels, want) {
			t.Errorf("%s: labels %q, want %q", test.name, labels, want)
		}
	}
}

// A day of windows of five seconds: nothing grows.
func TestADayOfWindowsTakesNoMoreMemoryThanAnHour(t *testing.T) {
	r := offCPU(t, Options{Whole: true}, table.Options{Interval: 5e9, Emit: func(*table.Window) {}})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const windows, each = 24 * 3600 / 5, 8
	var hour uint64
	for w := range uint64(windows) {
		for i := range uint64(each) {
			at := 5e9*w + 100*i
			tid := uint32(1000 + (each*w+i)%5000) // ids are used again
			r.born(tid, at+1)
			r.in(tid, at+2)
			r.out(tid, at+10, sleeps, 0x1000+(each*w+i)%5000)
			r.in(tid, at+20)
			r.ends(tid, at+30)
			r.out(tid, at+40, dead, 1)
			r.out(uint32(10+i), at+50, sleeps, 0x1000+i) // these live for ever
			r.in(uint32(10+i), at+60)
		}
		if w == windows/24 {
			hour = heap()
		}
	}
	if day := heap(); day > hour+hour/4+1<<20 {
		t.Errorf("%d bytes after a day, %d after an hour", day, hour)
	}
	runtime.KeepAlive(r)
}
