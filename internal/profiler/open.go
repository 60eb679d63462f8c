package profiler

import (
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/perfevent"
)

// open opens the collector's events on the target, as far as the collector can
// make do with less; notes are what the reader of the profile must know of
// that. The error is perfevent.Open's.
func open(target perfevent.Target, c collect.Collector, opts perfevent.Options) (session *perfevent.Session, notes []string, err error) {
	for {
		session, err = perfevent.Open(target, c.Plan().Samplings, opts)
		if err == nil {
			return session, notes, nil
		}
		note, ok := c.Retreat(err)
		if !ok {
			return nil, notes, err
		}
		opts.Logger.Info("making do with less", "error", err)
		if note != "" {
			notes = append(notes, note)
		}
	}
}
