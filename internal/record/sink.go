package record

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// sink writes the records of a run.
type sink struct {
	writer    *perfdata.Writer
	encoder   *perfdata.Encoder
	events    []perfdata.Event
	processes *process.Table
	store     *stack.Store     // nil: stacks are written as they were recorded
	stackers  []*stack.Stacker // by event
	addresses addresses
	functions functions
	files     files
	names     *names // nil: the recording gets no names
	last      perfdata.Sections
	locked    func(func()) // engine.Engine.Locked
	growth    growth
	flushed   uint64 // when Round flushed last
	cut       uint64 // stacks that end before their outermost function
	calls     atsample.CertaintyCounts
	err       error  // of Early
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
		p := s.processes.Process(int(int32(r.PID)))
		return s.add(p, r, s.unwind(p, r))
	case *perfevent.Lost:
		s.growth.lost += r.Lost
		return s.addOther(record)
	case *perfevent.Mmap, *perfevent.Comm, *perfevent.Fork, *perfevent.Exit, *perfevent.LostSamples:
		return s.addOther(record)
	}
	return nil
}

// MayPass implements engine.Early: samples are written in their turn.
func (s *sink) MayPass(record perfevent.Record, next bool) bool {
	_, isSample := record.(*perfevent.Sample)
	return isSample && next && s.store != nil
}

// Early implements engine.Early. It leaves a sample to Record if anything must be read or written for it.
func (s *sink) Early(record perfevent.Record) bool {
	r := record.(*perfevent.Sample)
	s.processes.CachedOnly(true)
	p := s.processes.Process(int(int32(r.PID)))
	user := s.unwind(p, r)
	refused := s.processes.Refused()
	s.processes.CachedOnly(false)
	if refused || s.err != nil || !s.files.haveAll(user.frames) || !s.writer.Fits(earlyBytes) {
		return false
	}
	s.err = s.add(p, r, user)
	return true
}

// earlyBytes is more than a sample takes that Early writes: its callchain, and the functions in it that
// are not mapped yet. If a sample is larger, the reader of the rings writes to the file once.
const earlyBytes = 32 << 10

// flushTime is the shortest time between two flushes, in nanoseconds. Each ends what zstd packs together.
const flushTime = 200e6

// Round implements engine.Rounded. What was read up to the last flush is in the file, even if ringtap is
// killed.
func (s *sink) Round(before uint64) error {
	if before < s.flushed+flushTime {
		return nil // the rings are read as often as interpreters need it
	}
	s.flushed = before
	var err error
	var progress Progress
	var counts []stack.GrowthCounts
	s.locked(func() { // Early may run meanwhile
		if err = s.err; err == nil {
			err = errors.Join(s.writer.Round(), s.writer.Flush())
		}
		progress, counts = Progress{Samples: s.samples, Bytes: s.writer.Written()}, s.growth.counts()
	})
	if err != nil {
		return err
	}
	s.growth.look(counts, before)
	if s.limit > 0 && progress.Bytes >= s.limit {
		s.full()
	}
	s.progress(progress)
	return nil
}

func (s *sink) write(record perfevent.Record) error {
	if s.err != nil {
		return s.err
	}
	raw, err := s.encoder.Append(s.raw[:0], record)
	s.raw = raw
	if err != nil {
		return fmt.Errorf("record a %T: %w", record, err)
	}
	return s.writer.Record(raw)
}

// add writes a sample. user is its user stack.
func (s *sink) add(p *process.Process, r *perfevent.Sample, user userStack) error {
	s.samples++
	s.sample = *r
	w := &s.sample
	w.ID = s.events[r.Sampling].IDs[0] // events that were opened later have ids that the file lacks
	if s.store == nil {
		s.files.mapped(p)
		s.place(p, r)
		return s.write(w)
	}
	if err := s.setCallchain(p, w, user); err != nil {
		return err
	}
	w.Regs, w.Stack = perfevent.Registers{}, nil
	return s.write(w)
}

// addOther writes a record that is not a sample.
func (s *sink) addOther(record perfevent.Record) error {
	record.Common().ID = 0 // the file does not have the event of the side-band
	return s.write(record)
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
