package perfevent

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// setFilter gives an event its sampling's filter. What inherits the event
// inherits the filter. The kernel asks the filter before it counts, so what the
// filter keeps out is in no number.
func (s *Session) setFilter(fd int, sampling *Sampling) error {
	if sampling.Filter == "" {
		return nil
	}
	e := &OpenError{Event: sampling.Event.String(), Target: s.target.String(), Kind: ErrFilter}
	if strings.ContainsRune(sampling.Filter, 0) {
		e.Err = fmt.Errorf("filter %q: %w", sampling.Filter, unix.EINVAL)
		return e
	}
	text := append([]byte(sampling.Filter), 0)
	var pin runtime.Pinner // the kernel reads the text through an integer
	pin.Pin(&text[0])
	defer pin.Unpin()
	err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_FILTER, int(addressOf(text)))
	if err == nil {
		return nil
	}
	e.Err = fmt.Errorf("filter %q: %w", sampling.Filter, err)
	switch {
	case sampling.Event.attr.Type != unix.PERF_TYPE_TRACEPOINT:
		e.Hint = "only tracepoints and tracefs probes have fields to filter by"
	case errors.Is(err, unix.EINVAL):
		e.Hint = "it names a field that the event does not have, or is not a condition"
	}
	return e
}
