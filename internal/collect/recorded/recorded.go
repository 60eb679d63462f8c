// Package recorded is the collector of recordings: it adds up the samples of a recorded event. Times
// also keeps each of them, and makes a timeline.Timeline.
package recorded

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the collector of one recorded event. A sample counts with its period: the number of
// events, or nanoseconds of a clock, that it stands for.
type Collector struct {
	Event  *perfdata.Event
	Stacks stack.Stacks
	// Labels are the leaf of each row's stack, in this order. Rows of samples that there was no
	// memory for have none.
	Labels []Label
	// Samples adds a column for the number of samples.
	Samples bool
	// Times, unless nil, also keeps each sample with its time. The event is the Number-th of its
	// events.
	Times  *Times
	Number int

	// Threads has the latest names of the threads with samples, if Labels contains Thread. It is
	// complete after the run.
	Threads map[uint32]string
	// Squares is the sum of the samples' periods, squared: see profile.Metric. It is complete after
	// the run.
	Squares float64
}

// Plan returns the event's sampling.
func (c *Collector) Plan() table.Plan {
	sampling := perfevent.Sampling{Event: perfevent.EventOf(&c.Event.Attr)}
	sampling.Callchain = perfevent.CallchainMode{Kernel: c.Stacks.Kernel, User: c.Stacks.User}
	metrics := []profile.Metric{c.metric()}
	if c.Samples {
		metrics = append(metrics, profile.Metric{Name: c.Event.Name + " samples", Type: "samples", Unit: "counts", Scale: 1, Running: metrics[0].Running})
	}
	return table.Plan{
		Name: "report", Event: c.Event.Name,
		Samplings: []perfevent.Sampling{sampling},
		Stacks:    c.Stacks,
		Metrics:   metrics,
		Names:     slices.Contains(c.Labels, Comm) || slices.Contains(c.Labels, Thread) || c.Times != nil,
	}
}

// metric returns the column of the event. The periods of clocks are nanoseconds.
func (c *Collector) metric() profile.Metric {
	a := &c.Event.Attr
	m := profile.Metric{Name: c.Event.Name, Type: c.Event.Name, Unit: "counts", Scale: 1, Running: a.Type != unix.PERF_TYPE_TRACEPOINT}
	if isClock(c.Event) {
		m.Unit = "nanoseconds"
	}
	return m
}

// isClock reports whether an event counts the nanoseconds that a CPU or a thread has run.
func isClock(e *perfdata.Event) bool {
	return e.Attr.Type == unix.PERF_TYPE_SOFTWARE && (e.Attr.Config == unix.PERF_COUNT_SW_CPU_CLOCK || e.Attr.Config == unix.PERF_COUNT_SW_TASK_CLOCK)
}

// Fallback returns false: nothing is opened.
func (c *Collector) Fallback(error) (note string, ok bool) { return "", false }

// Skip keeps all samples.
func (c *Collector) Skip(*perfevent.Sample) bool { return false }

// HasCallchains reports whether the event's samples have callchains, or what they are unwound from.
func (c *Collector) HasCallchains() bool {
	const withStack = unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_STACK_USER
	return c.Event.Attr.Sample_type&withStack != 0
}

func (c *Collector) hasCPU() bool { return c.Event.Attr.Sample_type&unix.PERF_SAMPLE_CPU != 0 }

// Fold counts a sample.
func (c *Collector) Fold(rows *table.Rows, _ int, s *perfevent.Sample) {
	row := c.labelled(rows, c.row(rows, s), s)
	rows.Add(row, 0, s.Period)
	if c.Samples {
		rows.Add(row, 1, 1)
	}
	c.Squares += float64(s.Period) * float64(s.Period)
	if c.Times != nil {
		c.Times.sample(rows, c.Number, s, row, c.hasCPU())
	}
}

// row returns the row of a sample. Its leaf is where the sample was taken, even if the recorder left
// out that part of the callchains.
func (c *Collector) row(rows *table.Rows, s *perfevent.Sample) table.Row {
	a := &c.Event.Attr
	mode := s.Misc & unix.PERF_RECORD_MISC_CPUMODE_MASK
	noUser := a.Bits&unix.PerfBitExcludeCallchainUser != 0 && a.Sample_type&unix.PERF_SAMPLE_STACK_USER == 0
	noKernel := a.Bits&unix.PerfBitExcludeCallchainKernel != 0
	switch {
	case !c.HasCallchains(), noUser && mode == unix.PERF_RECORD_MISC_USER:
		return c.address(rows, s)
	case noKernel && mode == unix.PERF_RECORD_MISC_KERNEL && c.Stacks.Kernel:
		return rows.InKernel(rows.Of(s), s.IP)
	}
	return rows.Of(s)
}

// address returns the row of a sample that has no callchain. Its stack is the sample's own address.
func (c *Collector) address(rows *table.Rows, s *perfevent.Sample) table.Row {
	switch s.Misc & unix.PERF_RECORD_MISC_CPUMODE_MASK {
	case unix.PERF_RECORD_MISC_KERNEL:
		if c.Stacks.Kernel {
			return rows.Stack(s.PID, nil, false, []callchain.Frame{{Object: callchain.Kernel, Offset: s.IP}})
		}
	case unix.PERF_RECORD_MISC_USER:
		m, ok := rows.Processes().Process(int(int32(s.PID))).Find(s.IP)
		if ok && c.Stacks.User {
			return rows.Stack(s.PID, []callchain.Frame{{Object: m.Object, Offset: s.IP - m.Start + m.Offset}}, false, nil)
		}
	}
	return rows.Process(s.PID)
}
