package recording

import (
	"slices"

	"github.com/ringtap/ringtap/perfevent"
)

// Keep says which samples are kept. The zero value keeps all.
type Keep struct {
	PIDs, TIDs []int  // of these processes or threads; nil: all
	CPUs       []int  // on these CPUs; nil: all
	From, To   uint64 // with times from From up to To, nanoseconds; To 0: no end
}

// has reports whether a sample is kept.
func (k *Keep) has(s *perfevent.Sample) bool {
	return k.AtAnyTime(&s.Header) && s.Time >= k.From && (k.To == 0 || s.Time < k.To)
}

// AtAnyTime reports whether the record's process, thread and CPU are kept, if its time is.
func (k *Keep) AtAnyTime(h *perfevent.Header) bool {
	switch {
	case k.PIDs != nil && !slices.Contains(k.PIDs, int(int32(h.PID))):
	case k.TIDs != nil && !slices.Contains(k.TIDs, int(int32(h.TID))):
	case k.CPUs != nil && !slices.Contains(k.CPUs, int(h.CPU)):
	default:
		return true
	}
	return false
}
