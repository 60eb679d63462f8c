package perfevent

import "golang.org/x/sys/unix"

// SoftwareEvents returns the events of the kernel's own counters.
func SoftwareEvents() []Event {
	var events []Event
	for c := SoftwareCPUClock; c <= SoftwareEmulationFaults; c++ {
		events = append(events, Software(c))
	}
	return events
}

// HardwareEvents returns the events that have a name on every CPU, the counters
// and the caches, whether or not this one has them: see Available.
func HardwareEvents() []Event {
	var events []Event
	for c := HardwareCPUCycles; c <= HardwareRefCycles; c++ {
		events = append(events, Hardware(c))
	}
	for c := CacheL1D; c <= CacheNode; c++ {
		for op := CacheLoad; op <= CachePrefetch; op++ {
			events = append(events, HardwareCache(c, op, false), HardwareCache(c, op, true))
		}
	}
	return events
}

// Available tells whether the event can be counted here: it is opened on the
// caller's own thread, without the kernel's part, and closed.
func Available(e Event) bool {
	s := Sampling{Event: e, ExcludeKernel: true}
	attr := sampleAttr(&s, false, 0, 0)
	fd, err := perfEventOpen(&attr, e.text, subject{}, -1, noGroup)
	if err != nil {
		return false
	}
	_ = unix.Close(fd) // nothing was counted that closing could lose
	return true
}
