package annotate

import (
	"maps"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// Count is a number of samples and the sum of their periods. Periods are nanoseconds for clocks.
type Count struct{ Samples, Period uint64 }

func (c *Count) add(other Count) {
	c.Samples += other.Samples
	c.Period += other.Period
}

// place is the address at which samples of an event were taken.
type place struct {
	frame callchain.Frame
	event int
	idle  bool // in the idle task
}

// sink counts samples by place.
type sink struct {
	processes *process.Table
	counts    map[place]Count
	totals    []Count // by event
}

func newSink(processes *process.Table, events int) *sink {
	s := &sink{processes: processes, counts: make(map[place]Count), totals: make([]Count, events)}
	processes.Hold(func(hold func(callchain.ObjectID)) {
		for p := range maps.Keys(s.counts) {
			hold(p.frame.Object)
		}
	})
	return s
}

// Record counts a sample. One at an address without a mapping counts in the total alone.
func (s *sink) Record(record perfevent.Record) error {
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		return nil
	}
	one := Count{Samples: 1, Period: sample.Period}
	s.totals[sample.Sampling].add(one)
	p := place{event: sample.Sampling, idle: sample.PID == 0}
	switch sample.Misc & unix.PERF_RECORD_MISC_CPUMODE_MASK {
	case unix.PERF_RECORD_MISC_KERNEL:
		p.frame = callchain.Frame{Object: callchain.Kernel, Offset: sample.IP}
	case unix.PERF_RECORD_MISC_USER:
		m, ok := s.processes.Process(int(int32(sample.PID))).Find(sample.IP)
		if !ok {
			return nil
		}
		p.frame = callchain.Frame{Object: m.Object, Offset: sample.IP - m.Start + m.Offset}
	default:
		return nil
	}
	count := s.counts[p]
	count.add(one)
	s.counts[p] = count
	return nil
}
