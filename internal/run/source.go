package run

import (
	"context"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// Source is where records come from. Enable and Read are called once.
type Source interface {
	// Host is the machine that the records are of.
	Host() process.Host
	// Processes are those that are watched, or none if all are. Records about them
	// come from the source's beginning on.
	Processes() []int
	// Now is the present on the clock of the records, in nanoseconds.
	Now() uint64
	// Enable lets samples come.
	Enable() error
	// Read hands on the records in the order of time by the stages of a reader: see
	// perfevent.Session.Read.
	Read(ctx context.Context, by perfevent.Reader, handle func(perfevent.Record) error) error
	// Account is where the records went. It is final when Read has returned.
	Account() (Account, error)
}

// Watched are the processes that a source's records are of from the beginning on: those that are
// watched, or all that run.
func Watched(source Source) []int {
	if pids := source.Processes(); len(pids) > 0 {
		return pids
	}
	return source.Host().Running()
}

// Live is the rings of this machine.
type Live struct {
	*perfevent.Session
}

// Open opens the samplings on the target: see perfevent.Open. Those that copy user stacks get
// what it takes to unwind them there: see followSwitches.
func Open(target perfevent.Target, samplings []perfevent.Sampling, opts perfevent.Options) (*Live, error) {
	session, err := perfevent.Open(target, followSwitches(target, samplings), opts)
	if err != nil {
		return nil, err
	}
	return &Live{session}, nil
}

// Host is this machine.
func (*Live) Host() process.Host { return process.Host{} }

// Now is CLOCK_MONOTONIC.
func (*Live) Now() uint64 { return perfevent.Now() }

// Read reads the rings.
func (l *Live) Read(ctx context.Context, by perfevent.Reader, handle func(perfevent.Record) error) error {
	return by.Read(ctx, l.Session, handle)
}

// Account reads the kernel's counts.
func (l *Live) Account() (Account, error) {
	events, err := l.Accounts()
	if err != nil {
		return Account{}, err
	}
	stats, err := l.Stats()
	return Account{Events: events, Stats: stats}, err
}
