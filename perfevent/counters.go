package perfevent

import "errors"

// Counters counts events on a target without recording any.
type Counters struct {
	ended chan struct{}
}

// OpenCounters opens every event on the target, disabled.
func OpenCounters(target Target, events []Event, opts Options) (*Counters, error) {
	return nil, errors.ErrUnsupported
}

// Enable starts all counters. If the target is a Started command, it runs from
// now on.
func (c *Counters) Enable() error { return errors.ErrUnsupported }

// Disable stops all counters. What they have counted stays.
func (c *Counters) Disable() error { return errors.ErrUnsupported }

// Read returns what each event has counted since Open, in the order of events.
func (c *Counters) Read() ([]uint64, error) { return nil, errors.ErrUnsupported }

// Ended is closed when the target is gone, as with Session.Read.
func (c *Counters) Ended() <-chan struct{} { return c.ended }

// Close closes all counters.
func (c *Counters) Close() error { return nil }
