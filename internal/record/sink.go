package record

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// sink writes the records of a run.
type sink struct {
	writer    *perfdata.Writer
	encoder   *perfdata.Encoder
	events    []perfdata.Event
	processes *process.Table
	stacker   *stack.Stacker // nil: stacks are written as they were recorded
	addresses addresses
	files     files
	names     *names // nil: the recording gets no names
	last      perfdata.Sections
	cut       uint64 // stacks that end before their outermost function
	full      func() // called when the recording has reached its size
	limit     int64  // bytes; 0: none
	progress  func(Progress)
	samples   uint64

	sample perfevent.Sample // a sample as it is written
	chain  []uint64         // buffer
	raw    []byte           // buffer
}

// Record implements engine.Sink.
func (s *sink) Record(record perfevent.Record) error {
	switch r := record.(type) {
	case *perfevent.Sample:
		s.samples++
		return s.write(s.written(r))
	case *perfevent.Mmap, *perfevent.Comm, *perfevent.Fork, *perfevent.Exit, *perfevent.Lost, *perfevent.LostSamples:
		record.Common().ID = 0 // the file does not have the event of the side-band
		return s.write(record)
	}
	return nil
}

// Round implements engine.Rounded. What was read so far is then in the file, even if ringtap is killed.
func (s *sink) Round(uint64) error {
	if err := s.writer.Round(); err != nil {
		return err
	}
	if err := s.writer.Flush(); err != nil {
		return err
	}
	if s.limit > 0 && s.writer.Written() >= s.limit {
		s.full()
	}
	s.progress(Progress{Samples: s.samples, Bytes: s.writer.Written()})
	return nil
}

func (s *sink) write(record perfevent.Record) error {
	raw, err := s.encoder.Append(s.raw[:0], record)
	s.raw = raw
	if err != nil {
		return fmt.Errorf("record a %T: %w", record, err)
	}
	return s.writer.Record(raw)
}

// written returns a sample as it is written. It is valid until the next call.
func (s *sink) written(r *perfevent.Sample) *perfevent.Sample {
	s.sample = *r
	w := &s.sample
	w.ID = s.events[r.Sampling].IDs[0] // events that were opened later have ids that the file lacks
	p := s.processes.Process(int(int32(r.PID)))
	s.files.mapped(p)
	if s.stacker == nil {
		s.place(p, r)
		return w
	}
	w.Callchain = s.callchain(p, r)
	w.Regs, w.Stack = perfevent.Registers{}, nil
	return w
}

// place notes where a sample without an unwound stack is.
func (s *sink) place(p *process.Process, r *perfevent.Sample) {
	if s.names == nil {
		return
	}
	switch r.Misc & unix.PERF_RECORD_MISC_CPUMODE_MASK {
	case unix.PERF_RECORD_MISC_KERNEL:
		s.names.add([]callchain.Frame{{Object: callchain.Kernel, Offset: r.IP}})
	case unix.PERF_RECORD_MISC_USER:
		if m, ok := p.Find(r.IP); ok {
			s.names.add([]callchain.Frame{{Object: m.Object, Offset: r.IP - m.Start + m.Offset}})
		}
	}
}

// named notes that frames are to have names.
func (s *sink) named(frames []callchain.Frame) {
	if s.names != nil {
		s.names.add(frames)
	}
}

// callchain returns the callchain of a sample as the kernel writes it, with the user stack unwound.
func (s *sink) callchain(p *process.Process, r *perfevent.Sample) []uint64 {
	kernel, walked := callchain.Split(r.Callchain)
	chain := s.chain[:0]
	if len(kernel) > 0 {
		chain = append(append(chain, contextKernel), kernel...)
		s.named(s.stacker.Kernel(r))
	}
	if s.stacker.Stacks.User && stack.HasUser(r) {
		frames, end := s.stacker.User(p, r)
		if end == callchain.Cut {
			s.cut++
		}
		s.named(frames)
		begin := len(chain)
		chain = s.addresses.appendTo(append(chain, contextUser), p, frames)
		if len(chain) == begin+1 { // in memory that no mapping explains
			chain = append(chain, walked...)
		}
		if len(chain) == begin+1 {
			chain = chain[:begin]
		}
	}
	s.chain = chain
	return chain
}
