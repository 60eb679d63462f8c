package llc

import (
	"errors"
	"os"

	"github.com/ringtap/ringtap/perfevent"
)

// Why there are no counts, and what to do.
var (
	errNoCounters = errors.New("this machine shows no performance counters of the CPU, which count the cache's misses: " +
		"a virtual machine has them where its host hands them on (KVM: -cpu host,pmu=on; clouds: bare metal and some machine types); ringtap on-cpu works without")
	errNoCacheCounters = errors.New("the performance counters that this machine shows do not count misses of the last-level cache and references to it " +
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
