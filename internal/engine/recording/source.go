package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// Options configures a Source.
type Options struct {
	Files buildid.Files
	// Kallsyms opens the symbols of the recorded kernel, at their recorded addresses.
	Kallsyms func(Kernel) (io.ReadCloser, error)
	Keep     Keep
}

// Source is a recording as an engine.Source. The samplings of its samples are the indexes of
// Events.
type Source struct {
	// Events are the recorded events that have samples to show, in the order of the file.
	Events []perfdata.Event
	// LeftOut, unless nil, gets the samples that Options.Keep leaves out, in the order of the records.
	// It must not keep any part of them. Set it before Read.
	LeftOut func(*perfevent.Sample)

	file     *perfdata.File
	keep     Keep
	images   *images
	symbols  recordedSymbols
	kernel   Kernel
	arch     callchain.Arch
	unwinds  bool          // ringtap unwinds stacks of the recorded architecture
	index    []int         // by event of the file: index in Events, or -1
	begin    uint64        // time of the first sample
	now      atomic.Uint64 // time of the latest record
	received []uint64      // samples that are kept, by event
	weight   []uint64
	stats    perfdata.Stats
	damage   error // of perfdata.File.Read

	openKallsyms func(Kernel) (io.ReadCloser, error)
}

// New returns a Source that reads f, which the caller closes after the run. It reads the start of
// the file, up to the first sample.
func New(f *perfdata.File, opts Options) (*Source, error) {
	s := &Source{file: f, keep: opts.Keep, images: newImages(f, opts.Files), symbols: newSymbols(f.Symbols), kernel: kernelOf(f, f.Modified()), openKallsyms: opts.Kallsyms}
	s.arch, s.unwinds = archOf(f.Info.Arch)
	for i := range f.Events {
		at := -1
		if !isDummy(&f.Events[i]) {
			at = len(s.Events)
			s.Events = append(s.Events, f.Events[i])
		}
		s.index = append(s.index, at)
	}
	if len(s.Events) == 0 {
		return nil, errors.New("it records processes only, no event with samples")
	}
	n := len(s.Events)
	s.received, s.weight = make([]uint64, n), make([]uint64, n)
	return s, s.readStart()
}

// isDummy reports whether an event has no samples: perf records mappings and forks with it.
func isDummy(e *perfdata.Event) bool {
	return e.Attr.Type == unix.PERF_TYPE_SOFTWARE && e.Attr.Config == unix.PERF_COUNT_SW_DUMMY
}

// archOf returns the architecture of a machine (uname -m), and whether ringtap unwinds its stacks.
// A recording without one, because its recorder was killed, is taken for one of this machine.
func archOf(machine string) (a callchain.Arch, unwinds bool) {
	switch machine {
	case "":
		return callchain.Host(), true
	case "x86_64":
		return callchain.AMD64, true
	case "aarch64":
		return callchain.ARM64, true
	}
	return callchain.Host(), false
}

// errEnough ends a reading of the file.
var errEnough = errors.New("no more records are wanted")

// readStart finds the time of the first sample and the recorded kernel's reference symbol.
func (s *Source) readStart() error {
	_, err := s.file.Read(func(record perfevent.Record) error {
		if at := record.Common().Time; at != ^uint64(0) {
			s.begin = max(s.begin, at) // of the last record if there is no sample
		}
		switch r := record.(type) {
		case *perfevent.Sample:
			s.begin = r.Time
			return errEnough
		case *perfevent.Mmap:
			s.kernel.mapped(r)
		}
		return nil
	})
	var damage *perfdata.FormatError
	if err != nil && !errors.Is(err, errEnough) && !errors.As(err, &damage) {
		return err
	}
	s.begin = max(s.begin, s.keep.From)
	s.now.Store(s.begin)
	return nil
}

// Host returns the recorded machine.
func (s *Source) Host() process.Host {
	return process.Host{Machine: s.arch, Clock: s.Now, Recording: &process.Recording{Open: s.images.open, Kallsyms: s.kallsyms, Symbol: s.symbols.find, Function: s.symbols.function}}
}

// Kernel returns what the recording says about its kernel.
func (s *Source) Kernel() Kernel { return s.kernel }

// Processes returns nil: all recorded processes are watched.
func (s *Source) Processes() []int { return nil }

// Now returns the time of the latest record. Before Read, it is that of the first sample.
func (s *Source) Now() uint64 { return s.now.Load() }

// Wall returns the wall-clock time of a record's time, or the zero time if the recording does not
// have it.
func (s *Source) Wall(at uint64) time.Time {
	i := &s.file.Info
	if i.Wall == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(i.Wall+at-i.ClockTime))
}

// Enable does nothing.
func (s *Source) Enable() error { return nil }

// Between two rounds are that many nanoseconds of recorded time, and at most roundRecords records.
const (
	roundTime    = 200e6
	roundRecords = 1 << 16
)

// Read passes the records to handle on the caller's goroutine, until ctx is done. It ignores
// reader's spool. A damaged recording is no error here: see Damage.
func (s *Source) Read(ctx context.Context, reader perfevent.Reader, handle func(perfevent.Record) error) error {
	round, records := s.begin+roundTime, 0
	var failed error
	stats, err := s.file.Read(func(record perfevent.Record) error {
		at := record.Common().Time
		if at > s.now.Load() && at != ^uint64(0) {
			s.now.Store(at)
		}
		if records++; at >= round && at != ^uint64(0) || records == roundRecords {
			round, records = max(round, at)+roundTime, 0
			if ctx.Err() != nil {
				return errEnough
			}
			if reader.Round != nil {
				reader.Round(s.now.Load())
			}
		}
		if !s.admit(record) {
			return nil
		}
		if reader.Unordered != nil {
			reader.Unordered(record)
		}
		failed = handle(record)
		return failed
	})
	s.stats = stats
	if s.keep.To > 0 {
		s.now.Store(min(s.now.Load(), s.keep.To))
	}
	switch {
	case failed != nil:
		return failed
	case err != nil && !errors.Is(err, errEnough):
		s.damage = err
	}
	if reader.Round != nil {
		reader.Round(s.now.Load())
	}
	return nil
}

// admit prepares a record for the engine. It returns false if the record is to be left out.
func (s *Source) admit(record perfevent.Record) bool {
	switch r := record.(type) {
	case *perfevent.Mmap:
		s.images.identify(r)
		s.symbols.mapped(r)
	case *perfevent.Sample:
		event := s.index[r.Sampling]
		if event < 0 {
			return false
		}
		r.Sampling = event
		if !s.keep.has(r) {
			if s.LeftOut != nil {
				s.LeftOut(r)
			}
			return false
		}
		s.received[event]++
		s.weight[event] += r.Period
		if !s.unwinds {
			r.Regs, r.Stack = perfevent.Registers{}, nil
		}
	}
	return true
}

// Account says what was read. What was lost belongs to no event in a recording; it is in the first
// event's account.
func (s *Source) Account() (engine.Account, error) {
	a := engine.Account{Stats: perfevent.Stats{Lost: s.stats.Lost, Malformed: s.stats.Malformed, OrderBreaks: s.stats.Late}}
	for i := range s.Events {
		a.Events = append(a.Events, perfevent.Account{Received: s.received[i], Weight: s.weight[i]})
	}
	a.Events[0].Lost = max(s.stats.Lost, s.stats.LostSamples) // perf records what the kernel lost in both ways
	return a, nil
}

// LostSamples returns how many samples the kernel counted as lost, as perf report prints it. Records
// that found no room in a ring are not among them: see Account.
func (s *Source) LostSamples() uint64 { return s.stats.LostSamples }

// Damage returns where and why the recording stopped making sense; nil if it is whole. Everything
// before that place was read.
func (s *Source) Damage() error {
	if s.damage != nil {
		return fmt.Errorf("the recording is damaged; what comes before is shown: %w", s.damage)
	}
	return nil
}

// Cut reports whether the recorder was killed or the file cut off.
func (s *Source) Cut() bool { return s.stats.Cut }
