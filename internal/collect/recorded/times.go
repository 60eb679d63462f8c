package recorded

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine/recording"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/timeline"
	"github.com/ringtap/ringtap/perfevent"
)

// Times keeps what the collectors of a recording add up: each sample, with its thread and time. It
// also keeps when threads were not on a CPU, if the recording has sched:sched_switch or the kernel's
// switch records. The collectors of all events share it. Its memory grows with the samples, up to
// table.Options.Memory.
type Times struct {
	keep     recording.Keep
	switches []*switchFields // by event; nil: not sched:sched_switch
	rated    bool            // see switchFieldsOf

	rows      *table.Rows        // of the first record; its names are those of all collectors
	processes map[uint32]int     // by PID: the latest process, as an index into all
	threads   map[uint64]*thread // by threadKey: the latest thread
	all       timeline.Timeline  // without the threads
	started   []*thread          // all threads, also those that nothing is known of but their start

	places  map[table.Row]int32 // index into the rows of the samples
	indexes []int32             // by place: index into the profile's rows; set by index
	bytes   int                 // of the samples, waits, places and threads
	leftOut uint64              // samples and waits that there was no memory for
	waits   int                 // how many are kept
	noEnds  int                 // how many of them ended, but nobody knows when
}

// thread is a thread of the timeline, and what is known about it at the time of the latest record.
// Its samples and waits have places as their rows.
type thread struct {
	timeline.Thread
	waits bool // the last of Waits goes on
}

// NewTimes returns the Times of a recording's events. Samples and waits are of what keep keeps.
// formats are those of the recorded tracepoints. The error says that the recording has no times.
func NewTimes(events []perfdata.Event, formats []perfdata.EventFormat, keep recording.Keep) (*Times, error) {
	t := &Times{keep: keep, processes: make(map[uint32]int), threads: make(map[uint64]*thread), places: make(map[table.Row]int32)}
	for i := range events {
		if events[i].Attr.Sample_type&unix.PERF_SAMPLE_TIME == 0 {
			return nil, errors.New("its samples have no times (perf record --no-timestamp)")
		}
		fields, rated := switchFieldsOf(&events[i], formats)
		t.switches, t.rated = append(t.switches, fields), t.rated || rated
		t.all.Events = append(t.all.Events, timeline.Event{Interval: interval(&events[i]), Switches: t.switches[i] != nil})
	}
	return t, nil
}

// interval returns timeline.Event.Interval. The kernel adapts the period of events that have a
// frequency, and those that count cycles then happen at nearly regular times.
func interval(e *perfdata.Event) time.Duration {
	byFrequency := e.Attr.Bits&unix.PerfBitFreq != 0
	isCycles := e.Attr.Type == unix.PERF_TYPE_HARDWARE && e.Attr.Config&0xffffffff == unix.PERF_COUNT_HW_CPU_CYCLES // the PMU is above
	switch {
	case e.Attr.Sample == 0:
		return 0
	case byFrequency && (isClock(e) || isCycles):
		return time.Second / time.Duration(min(e.Attr.Sample, uint64(time.Second)))
	case isClock(e):
		return time.Duration(min(e.Attr.Sample, 1<<62))
	}
	return 0
}

// sample adds a sample that counts in row. event is its index.
func (t *Times) sample(rows *table.Rows, event int, s *perfevent.Sample, row table.Row, hasCPU bool) {
	t.rows = rows
	th, place := t.thread(s.PID, s.TID), t.place(row)
	cpu := timeline.NoCPU
	if hasCPU {
		cpu = uint16(min(s.CPU, uint32(timeline.NoCPU)))
	}
	add(t, &th.Samples, timeline.Sample{Time: s.Time, Weight: s.Period, Row: place, CPU: cpu, Metric: uint16(event)})
	t.ran(s, place)
}

// LeftOut is recording.Source.LeftOut: a sample that is not kept may end the wait of a thread that
// is.
func (t *Times) LeftOut(s *perfevent.Sample) {
	if t.rows != nil {
		t.ran(s, profile.None)
	}
}

// Bytes that a place and a thread take.
const (
	placeBytes  = 64
	threadBytes = 256
)

// add appends a sample or a wait to a thread's list, unless there is no memory for it.
func add[T timeline.Sample | timeline.Wait](t *Times, list *[]T, item T) bool {
	const size = 24
	if n := len(*list); n == cap(*list) {
		more := max(8, n/4)
		if !t.rows.Fits(more * size) {
			t.leftOut++
			return false
		}
		grown := make([]T, n, n+more)
		copy(grown, *list)
		*list, t.bytes = grown, t.bytes+more*size
	}
	*list = append(*list, item)
	return true
}

// place returns the place of a row.
func (t *Times) place(row table.Row) int32 {
	place, ok := t.places[row]
	if !ok {
		place = int32(len(t.places))
		t.places[row], t.bytes = place, t.bytes+placeBytes
	}
	return place
}

// latest returns the latest thread with a TID; nil if nothing is known about it.
func (t *Times) latest(pid, tid uint32) *thread { return t.threads[threadKey(pid, tid)] }

// threadKey identifies a thread by its TID. Threads have none (-1) when they have ended but for their
// last switch. Those of a process then count as one.
func threadKey(pid, tid uint32) uint64 {
	const none = ^uint32(0)
	if tid == none {
		return uint64(pid)<<32 | uint64(tid)
	}
	return uint64(tid)
}

// thread returns the latest thread with a TID.
func (t *Times) thread(pid, tid uint32) *thread {
	th := t.latest(pid, tid)
	if th == nil {
		th = &thread{Thread: timeline.Thread{Process: t.process(pid), TID: int(int32(tid)), Name: threadName(t.rows, tid)}}
		t.threads[threadKey(pid, tid)], t.bytes = th, t.bytes+threadBytes
		t.started = append(t.started, th)
	}
	return th
}

// process returns the index of the latest process with a PID.
func (t *Times) process(pid uint32) int {
	i, ok := t.processes[pid]
	if !ok {
		i = len(t.all.Processes)
		t.processes[pid] = i
		t.all.Processes = append(t.all.Processes, timeline.Process{PID: int(int32(pid)), Name: threadName(t.rows, pid)})
	}
	return i
}

// follow handles a record that is not a sample.
func (t *Times) follow(rows *table.Rows, record perfevent.Record) {
	t.rows = rows
	switch r := record.(type) {
	case *perfevent.Fork:
		delete(t.threads, threadKey(r.PID, r.TID))
		if r.TID == r.PID {
			delete(t.processes, r.PID)
		}
		if th := t.thread(r.PID, r.TID); r.Time != ^uint64(0) { // not before the recording
			th.Start = r.Time
		}
	case *perfevent.Comm:
		if th := t.latest(r.PID, r.TID); th != nil {
			th.Name = string(r.Name)
		}
		if i, ok := t.processes[r.PID]; ok && r.TID == r.PID {
			t.all.Processes[i].Name = string(r.Name)
		}
	case *perfevent.Exit:
		if th := t.latest(r.PID, r.TID); th != nil {
			th.returns(r.Time, true)
			th.End = r.Time
		}
	case *perfevent.Switch:
		t.switched(r)
	}
}

// end ends the waits that go on at the end of the recording. A thread that has ended left its CPU for
// the last time.
func (t *Times) end(now uint64) {
	for _, th := range t.started {
		if th.waits && th.End > 0 {
			th.Waits, th.waits = th.Waits[:len(th.Waits)-1], false
		}
		th.returns(now, true)
	}
}

// Timeline returns the timeline after the run. p is the run's profile.
func (t *Times) Timeline(p *profile.Profile) *timeline.Timeline {
	t.all.Profile = p
	for _, th := range t.started {
		if len(th.Samples)+len(th.Waits) == 0 {
			continue
		}
		t.extend(th)
		t.all.Threads = append(t.all.Threads, th.Thread)
	}
	return &t.all
}

// finish makes a thread's samples and waits refer to the profile's rows, and puts them into the order of
// time. It cuts off the parts of waits that are not kept, and counts the waits.
func (t *Times) finish(th *thread) {
	for i := range th.Samples {
		th.Samples[i].Row = t.indexes[th.Samples[i].Row]
	}
	byTime := func(a, b timeline.Sample) int { return cmp.Compare(a.Time, b.Time) }
	if !slices.IsSortedFunc(th.Samples, byTime) { // records that came late
		slices.SortStableFunc(th.Samples, byTime)
	}
	waits, from := th.Waits[:0], t.keep.From
	for _, w := range th.Waits {
		w.From = max(w.From, from)
		if t.keep.To > 0 {
			w.To = min(w.To, t.keep.To)
		}
		if w.From >= w.To {
			continue
		}
		if w.Row != profile.None {
			w.Row = t.indexes[w.Row]
		}
		waits, from = append(waits, w), w.To
	}
	th.Waits = waits
	t.waits += len(waits)
	for i := range len(waits) - 1 { // the last may go on
		if waits[i].NoEnd {
			t.noEnds++
		}
	}
}

// extend makes the timeline include what a thread has.
func (t *Times) extend(th *thread) {
	include := func(from, to uint64) {
		if t.all.End == 0 || from < t.all.Begin {
			t.all.Begin = from
		}
		t.all.End = max(t.all.End, to)
	}
	if n := len(th.Samples); n > 0 {
		include(th.Samples[0].Time, th.Samples[n-1].Time)
	}
	if n := len(th.Waits); n > 0 {
		include(th.Waits[0].From, th.Waits[n-1].To)
	}
}

// index makes samples and waits refer to the profile's rows, at the end of the run.
func (t *Times) index(index func(table.Row) int) {
	t.indexes = make([]int32, len(t.places))
	for row, place := range t.places {
		t.indexes[place] = int32(index(row))
	}
	t.places = nil // no more samples come, and the profile is not symbolized yet
	for _, th := range t.started {
		t.finish(th)
	}
}

// notes says what is missing.
func (t *Times) notes() (notes []string) {
	if t.rated {
		notes = append(notes, "the recording has only some hits of sched:sched_switch, so that waits are not shown; without -F and -c it has all, and perf record -e cpu-clock/freq=999/ -e sched:sched_switch samples the clock, too")
	}
	if t.noEnds > t.waits/100 { // some are lost in any recording
		notes = append(notes, fmt.Sprintf("the recording lacks the ends of %d of %d waits, which are shown up to the thread's next sample; perf record --switch-events records the ends", t.noEnds, t.waits))
	}
	if t.leftOut > 0 {
		notes = append(notes, fmt.Sprintf("%d samples and waits are not shown by their time, because memory was full; --max-memory allows more, --time and --pid select less", t.leftOut))
	}
	return notes
}
