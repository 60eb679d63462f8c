package llc

import (
	"errors"
	"os"

	"github.com/ringtap/ringtap/perfevent"
)

// Errors for machines that count no cache references, with what to do about it.
var (
	errNoCounters = errors.New("this machine has no visible CPU performance counters, which count cache misses: " +
		"a virtual machine has them where its host hands them on (KVM: -cpu host,pmu=on; clouds: bare metal and some machine types); ringtap on-cpu works without")
	errNoCacheCounters = errors.New("the performance counters of this machine do not count last-level cache misses and references " +
		"(cache-misses, cache-references); ringtap on-cpu works without")
)

// available returns an error that says what to do if the machine cannot count the collector's
// events. If it can, opening them on a target may still fail.
func (c *Collector) available() error {
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
