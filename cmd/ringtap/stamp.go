package main

import (
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// stamp is what writes the time of day before each line; nil if it is not wanted.
func (t *tracerFlags) stamp() func(dst []byte, nanoseconds uint64) []byte {
	if !t.times {
		return nil
	}
	return stamps(time.Now(), perfevent.Now())
}

// stamps writes times of day, of which one is known by the records' clock.
func stamps(day time.Time, clock uint64) func(dst []byte, nanoseconds uint64) []byte {
	return func(dst []byte, nanoseconds uint64) []byte {
		t := day.Add(time.Duration(int64(nanoseconds) - int64(clock)))
		return append(t.AppendFormat(dst, "2006-01-02T15:04:05.000000Z07:00"), ' ')
	}
}
