package engine

import (
	"context"
	"slices"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/perfevent"
)

// Source delivers records. Enable and Read are called once.
type Source interface {
	// Host returns the machine that the records come from.
	Host() process.Host
	// Processes returns the PIDs of the watched processes, or none if all are watched. The source
	// records what they do from the moment it was opened.
	Processes() []int
	// Now returns the present time on the records' clock, in nanoseconds.
	Now() uint64
	// Enable enables the samples.
	Enable() error
	// Read passes the records to handle in time order, through the stages of reader: see
	// perfevent.Session.Read.
	Read(ctx context.Context, reader perfevent.Reader, handle func(perfevent.Record) error) error
	// Account says what happened to the records. It is final after Read has returned.
	Account() (Account, error)
}

// Watched returns the PIDs of the processes that a source watches. If it watches all, it returns
// the processes that run now.
func Watched(source Source) []int {
	if pids := source.Processes(); len(pids) > 0 {
		return pids
	}
	return source.Host().Running()
}

// Live is a Source that reads the rings of this machine.
type Live struct {
	*perfevent.Session
	samplings int  // how many samplings the caller asked for
	dithers   bool // more samplings follow the caller's: see atsample.Dither
}

// Open opens the samplings on the target: see perfevent.Open. Samplings that copy user stacks may
// get frame pointers too: see followSwitches. With opts.SharedRings, which Options.Calls needs, more
// samplings are opened: see atsample.Dither. Neither a sink nor the Account sees those.
func Open(target perfevent.Target, samplings []perfevent.Sampling, opts perfevent.Options) (*Live, error) {
	all := followSwitches(target, samplings)
	if opts.SharedRings {
		all = append(slices.Clip(all), atsample.Dither(all)...)
	}
	session, err := perfevent.Open(target, all, opts)
	if err != nil {
		return nil, err
	}
	return &Live{session, len(samplings), len(all) > len(samplings)}, nil
}

// Host returns this machine.
func (*Live) Host() process.Host { return process.Host{} }

// Now returns CLOCK_MONOTONIC in nanoseconds.
func (*Live) Now() uint64 { return perfevent.Now() }

// Read reads the rings.
func (l *Live) Read(ctx context.Context, reader perfevent.Reader, handle func(perfevent.Record) error) error {
	if l.dithers {
		reader, handle = l.withoutDither(reader, handle)
	}
	return reader.Read(ctx, l.Session, handle)
}

// withoutDither makes the stages of reader, and handle, skip samples of samplings that the caller
// did not ask for.
func (l *Live) withoutDither(reader perfevent.Reader, handle func(perfevent.Record) error) (perfevent.Reader, func(perfevent.Record) error) {
	isDither := func(record perfevent.Record) bool {
		sample, ok := record.(*perfevent.Sample)
		return ok && sample.Sampling >= l.samplings
	}
	if unordered := reader.Unordered; unordered != nil {
		reader.Unordered = func(record perfevent.Record) {
			if !isDither(record) {
				unordered(record)
			}
		}
	}
	if before := reader.BeforeSpool; before != nil {
		reader.BeforeSpool = func(record perfevent.Record, next bool) bool {
			return isDither(record) || before(record, next)
		}
	}
	return reader, func(record perfevent.Record) error {
		if isDither(record) {
			return nil
		}
		return handle(record)
	}
}

// Account returns the kernel's counts for the caller's samplings.
func (l *Live) Account() (Account, error) {
	events, err := l.Accounts()
	if err != nil {
		return Account{}, err
	}
	stats, err := l.Stats()
	return Account{Events: events[:l.samplings], Stats: stats}, err
}
