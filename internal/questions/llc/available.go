package llc

import (
	"errors"
	"os"

	"github.com/ringtap/ringtap/perfevent"
)

// Why there are no counts, and what to do.
var (
	errNoCounters = errors.New("this machine has no visible CPU performance counters, which count cache misses: " +
		"a virtual machine has them where its host hands them on (KVM: -cpu host,pmu=on; clouds: bare metal and some machine types); ringtap on-cpu works without")
	errNoCacheCounters = errors.New("the performance counters of this machine do not count last-level cache misses and references " +
		"(cache-misses, cache-references); ringtap on-cpu works without")
)

// Available returns an error that says what to do where the machine does not count the
// collector's events. Whether they can be opened on a target, only trying tells.
func (c *Collector) Available() error {
	open := func(events ...perfevent.Event) error {
		counters, err := perfevent.OpenCounters(perfevent.Thread(os.Getpid()), events, perfevent.Options{})
		if err != nil {
			return err
		}
		return counters.Close()
	}
	if !errors.Is(open(c.Misses, c.References), perfevent.ErrNoEvent) {
		return nil
	}
	if errors.Is(open(perfevent.CPUCycles()), perfevent.ErrNoEvent) {
		return errNoCounters
	}
	return errNoCacheCounters
}
