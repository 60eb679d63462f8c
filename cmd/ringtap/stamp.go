package main

import (
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// stamp returns a function that appends the time of day of a record to dst, or nil without -T.
// nanoseconds is the record's time.
func (t *tracerFlags) stamp() func(dst []byte, nanoseconds uint64) []byte {
	if !t.times {
		return nil
	}
	return stamps(time.Now(), perfevent.Now())
}

// stamps returns the function for stamp. The time of day was day when the records' clock was clock.
func stamps(day time.Time, clock uint64) func(dst []byte, nanoseconds uint64) []byte {
	return func(dst []byte, nanoseconds uint64) []byte {
		t := day.Add(time.Duration(int64(nanoseconds) - int64(clock)))
		return append(t.AppendFormat(dst, "2006-01-02T15:04:05.000000Z07:00"), ' ')
	}
}
