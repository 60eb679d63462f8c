package perfevent

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// setFilter gives an event its sampling's filter. What inherits the event
// inherits the filter. The kernel asks the filter before it counts, so what the
// filter keeps out is in no number.
func (s *Session) setFilter(fd int, sampling *Sampling) error {
	if sampling.Filter == "" {
		return nil
	}
	err := unix.IoctlSetString(fd, unix.PERF_EVENT_IOC_SET_FILTER, sampling.Filter)
	if err == nil {
		return nil
	}
	e := &OpenError{Event: sampling.Event.String(), Target: s.target.String(), Kind: ErrFilter,
		Err: fmt.Errorf("filter %q: %w", sampling.Filter, err)}
	switch {
	case sampling.Event.attr.Type != unix.PERF_TYPE_TRACEPOINT:
		e.Hint = "only tracepoints and tracefs probes have fields to filter by"
	case errors.Is(err, unix.EINVAL):
		e.Hint = "it names a field that the event does not have, or is not a condition"
	}
	return e
}
