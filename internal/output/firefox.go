package output

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/timeline"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// firefoxVersion is the version of the processed profile format. 60 is the first in which threads
// share their tables. Later releases of the Firefox Profiler convert it when they open the file
// (src/profile-logic/processed-profile-versioning.ts in its sources).
const firefoxVersion = 60

// errNoTimes is returned if there is no timeline.
var errNoTimes = errors.New("the profile has sums only, and this form needs the time of each sample")

// writeFirefox writes a timeline in the processed profile format of the Firefox Profiler
// (src/types/profile.ts and docs-developer/CHANGELOG-formats.md in its sources). Each thread is a
// track. Its samples are those of one event: the chosen metric, or else the first event that happens
// at regular times. Samples of other events and waits are markers. Times are milliseconds from the
// timeline's start, with all digits that the recording has.
func writeFirefox(w io.Writer, p *profile.Profile, opts FileOptions) error {
	metric, err := opts.metric(p)
	if err != nil {
		return err
	}
	if opts.Timeline == nil {
		return errNoTimes
	}
	if err := checkTimeline(opts.Timeline, p); err != nil {
		return err
	}
	f := &firefox{t: opts.Timeline, p: p, metric: metric, tables: newFirefoxTables(p, opts.Inlines)}
	if opts.Metric == "" {
		f.metric = regularMetric(f.t)
	}
	if err := f.write(bufio.NewWriter(w)); err != nil {
		return fmt.Errorf("write Firefox profile: %w", err)
	}
	return nil
}

// regularMetric returns the first metric whose event happens at regular times, or else 0.
func regularMetric(t *timeline.Timeline) int {
	for i := range t.Events {
		if t.Events[i].Interval > 0 {
			return i
		}
	}
	return 0
}

// firefox writes a file. bufio.Writer keeps the first error, so only the flush is checked.
type firefox struct {
	t      *timeline.Timeline
	p      *profile.Profile
	metric int // of the threads' samples
	tables *firefoxTables
	names  []int          // by metric: strings that are the names of markers
	waits  map[bool]int   // likewise, by whether the thread was preempted
	used   map[string]int // how many processes or threads had a number
	out    *bufio.Writer
	shown  []timeline.Sample // of the current thread: buffers
	others []timeline.Sample
}

func (f *firefox) write(out *bufio.Writer) error {
	f.out, f.used = out, make(map[string]int)
	for i := range f.p.Metrics {
		f.names = append(f.names, f.tables.text(f.p.Metrics[i].Name))
	}
	f.waits = map[bool]int{false: f.tables.text("blocked"), true: f.tables.text("preempted")}
	meta, err := json.Marshal(f.meta())
	if err != nil {
		return err
	}
	libs, err := json.Marshal(f.tables.libs())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `{"meta":%s,"libs":%s,"shared":`, meta, libs)
	f.tables.write(out)
	out.WriteString(`,"threads":[`)
	pids := make([]string, len(f.t.Processes))
	for i := range pids {
		pids[i] = f.number("process", f.t.Processes[i].PID)
	}
	written := 0
	for i := range f.t.Threads {
		th := &f.t.Threads[i]
		if f.split(th); len(f.shown)+len(f.others)+len(th.Waits) > 0 {
			separate(out, written)
			f.writeThread(th, pids)
			written++
		}
	}
	out.WriteString("]}\n")
	return out.Flush()
}

// number returns a process's or a thread's number. If earlier ones had the same, ".1" and so on
// follows.
func (f *firefox) number(kind string, n int) string {
	text := strconv.Itoa(n)
	before := f.used[kind+text]
	f.used[kind+text]++
	if before > 0 {
		text += "." + strconv.Itoa(before)
	}
	return text
}

// writeThread writes the thread that was split last. pids are by process.
func (f *firefox) writeThread(th *timeline.Thread, pids []string) {
	process := &f.t.Processes[th.Process]
	end := "null"
	if th.End > 0 {
		end = string(f.appendTime(nil, th.End))
	}
	fmt.Fprintf(f.out, `{"processType":"default","processName":%s,"processStartupTime":0,"processShutdownTime":null,`+
		`"registerTime":%s,"unregisterTime":%s,"pausedRanges":[],"name":%s,"isMainThread":%t,"pid":"%s","tid":"%s","showMarkersInTimeline":true,"samples":`,
		quoted(escape.Text(process.Name)), f.appendTime(nil, th.Start), end, quoted(escape.Text(th.Name)), th.TID == process.PID,
		pids[th.Process], f.number("thread", th.TID))
	f.writeSamples(th)
	f.out.WriteString(`,"markers":`)
	f.writeMarkers(th)
	f.out.WriteByte('}')
}

// split sets shown to the thread's samples of the chosen metric, and others to those that become
// markers.
func (f *firefox) split(th *timeline.Thread) {
	f.shown, f.others = f.shown[:0], f.others[:0]
	for _, s := range th.Samples {
		switch metric := int(s.Metric); {
		case metric == f.metric:
			f.shown = append(f.shown, s)
		case !f.t.Events[metric].Switches:
			f.others = append(f.others, s)
		}
	}
}

func (f *firefox) writeSamples(th *timeline.Thread) {
	m := &f.p.Metrics[f.metric]
	kind := "samples" // of anything: the forms that the Profiler knows are these, bytes and milliseconds
	weight := func(dst []byte, i int) []byte { return strconv.AppendUint(dst, scaled(f.shown[i].Weight, m), 10) }
	if m.Unit == "nanoseconds" {
		kind = "tracing-ms"
		weight = func(dst []byte, i int) []byte { return appendMillis(dst, scaled(f.shown[i].Weight, m)) }
	}
	columns := []column{
		{"stack", func(dst []byte, i int) []byte { return appendOrNull(dst, f.tables.stack(f.shown[i].Row)) }},
		{"time", func(dst []byte, i int) []byte { return f.appendTime(dst, f.shown[i].Time) }},
		{"weight", weight},
	}
	if cpu := f.cpuTimes(th); cpu != nil {
		columns = append(columns, column{"threadCPUDelta", cpu})
	}
	writeColumns(f.out, len(f.shown), `"weightType":"`+kind+`",`, columns...)
}

// cpuTimes returns the column of the CPU time since the previous sample, in nanoseconds, or nil if it
// is unknown: all time outside of the thread's waits if they are known exactly, or else what the
// sample stands for. The idle task uses no CPU time. A thread without samples must not have the
// column: the Profiler would never finish (getSlices in src/utils/slice-tree.ts).
func (f *firefox) cpuTimes(th *timeline.Thread) func(dst []byte, i int) []byte {
	interval, clock := f.t.Events[f.metric].Interval, f.p.Metrics[f.metric].Unit == "nanoseconds"
	switch {
	case len(f.shown) == 0:
		return nil
	case th.TID == 0:
		return always("0")
	case exact(th.Waits):
		wait, before := 0, uint64(0)
		return func(dst []byte, i int) []byte {
			now := f.shown[i].Time
			if i == 0 {
				before = now
			}
			ran := now - before
			for ; wait < len(th.Waits) && th.Waits[wait].From < now; wait++ {
				w := &th.Waits[wait]
				ran -= max(min(w.To, now), before) - max(w.From, before)
				if w.To > now {
					break
				}
			}
			before = now
			return strconv.AppendUint(dst, ran, 10)
		}
	case clock:
		return func(dst []byte, i int) []byte { return strconv.AppendUint(dst, f.shown[i].Weight, 10) }
	case interval > 0:
		return func(dst []byte, _ int) []byte { return strconv.AppendInt(dst, int64(interval), 10) }
	}
	return nil
}

// exact reports whether the ends of waits are known, but for the last one, which may go on.
func exact(waits []timeline.Wait) bool {
	return len(waits) > 0 && !slices.ContainsFunc(waits[:len(waits)-1], func(w timeline.Wait) bool { return w.NoEnd })
}

// appendTime appends a time in milliseconds since the timeline's start. Earlier times, such as 0, are
// the start.
func (f *firefox) appendTime(dst []byte, at uint64) []byte {
	return appendMillis(dst, max(at, f.t.Begin)-f.t.Begin)
}

// appendMillis appends nanoseconds as milliseconds.
func appendMillis(dst []byte, nanoseconds uint64) []byte {
	const perMilli = uint64(time.Millisecond)
	dst = strconv.AppendUint(dst, nanoseconds/perMilli, 10)
	if rest := nanoseconds % perMilli; rest > 0 {
		start := len(dst)
		dst = strconv.AppendUint(dst, perMilli+rest, 10) // a 1 and six digits
		dst[start] = '.'
	}
	return dst
}
