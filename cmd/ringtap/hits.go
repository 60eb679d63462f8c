package main

import (
	"bytes"
	"io"
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// firstHits passes on the lines of the first hits, with their stacks, and drops the
// others. With left 0 from the beginning it passes all.
type firstHits struct {
	to     io.Writer
	left   uint64 // hits
	enough func() // is called when there are no more to come
	over   bool
}

// Write is given whole lines, the stacks of a hit with it.
func (h *firstHits) Write(lines []byte) (int, error) {
	switch {
	case h.over:
		return len(lines), nil
	case h.left == 0:
		return h.to.Write(lines)
	}
	end := 0
	for line := range bytes.Lines(lines) {
		if !isStack(line) {
			if h.left == 0 {
				break
			}
			h.left--
		}
		end += len(line)
	}
	if h.left == 0 {
		h.over = true
		h.enough()
	}
	if n, err := h.to.Write(lines[:end]); err != nil {
		return n, err
	}
	return len(lines), nil
}

// isStack tells whether a line is one of a stack that follows a hit's own.
func isStack(line []byte) bool {
	return bytes.HasPrefix(line, []byte(" => ")) || bytes.HasSuffix(line, []byte("stack trace>\n"))
}

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
