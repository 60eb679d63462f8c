package script

import (
	"fmt"
	"strconv"

	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/perfevent"
)

// heading prints the part of a sample's text that comes before its frames.
type heading struct {
	width       int  // of the event's name
	nanoseconds bool // print times with nine decimals
}

// append appends the heading of a sample. comm is nil if the thread's name is unknown. chain says
// that a callchain follows.
func (h *heading) append(dst []byte, sample *perfevent.Sample, comm []byte, event string, set fields, chain bool) []byte {
	if set&fieldComm != 0 {
		width := 16
		if chain && set&fieldIP != 0 {
			width = 0
		}
		from := len(dst)
		switch {
		case sample.TID == 0:
			dst = append(dst, "swapper"...)
		case comm == nil:
			dst = strconv.AppendInt(append(dst, ':'), int64(int32(sample.TID)), 10)
		default:
			dst = escape.Append(dst, comm)
		}
		dst = append(alignRight(dst, from, width), ' ')
	}
	pid, tid := int64(int32(sample.PID)), int64(int32(sample.TID))
	switch {
	case set&fieldPID != 0 && set&fieldTID != 0:
		dst = fmt.Appendf(dst, "%5d/%-5d ", pid, tid)
	case set&fieldPID != 0:
		dst = append(appendRight(dst, pid, 5), ' ')
	case set&fieldTID != 0:
		dst = append(appendRight(dst, tid, 5), ' ')
	}
	if set&fieldCPU != 0 {
		dst = append(appendZeros(append(dst, '['), uint64(sample.CPU), 3), "] "...)
	}
	if set&fieldTime != 0 {
		dst = h.appendTime(dst, sample.Time)
	}
	if set&fieldPeriod != 0 {
		from := len(dst)
		dst = append(alignRight(strconv.AppendUint(dst, sample.Period, 10), from, 10), ' ')
	}
	if set&fieldEvent != 0 {
		from := len(dst)
		dst = append(alignRight(append(dst, event...), from, h.width), ": "...)
	}
	return dst
}

// appendTime appends a time in seconds.
func (h *heading) appendTime(dst []byte, t uint64) []byte {
	dst = append(appendRight(dst, int64(t/1e9), 5), '.')
	if h.nanoseconds {
		dst = appendZeros(dst, t%1e9, 9)
	} else {
		dst = appendZeros(dst, t%1e9/1e3, 6)
	}
	return append(dst, ": "...)
}

// appendRight appends a number, with blanks before it up to the width.
func appendRight(dst []byte, n int64, width int) []byte {
	from := len(dst)
	return alignRight(strconv.AppendInt(dst, n, 10), from, width)
}

// appendZeros appends a number, with zeros before it up to the width.
func appendZeros(dst []byte, n uint64, width int) []byte {
	limit := uint64(1)
	for range width - 1 {
		limit *= 10
	}
	for ; n < limit && limit > 1; limit /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, n, 10)
}

// alignRight inserts blanks before dst[from:] up to the width in bytes.
func alignRight(dst []byte, from, width int) []byte {
	n := width - (len(dst) - from)
	if n <= 0 {
		return dst
	}
	const blanks = "                "
	for missing := n; missing > 0; missing -= len(blanks) {
		dst = append(dst, blanks[:min(missing, len(blanks))]...)
	}
	copy(dst[from+n:], dst[from:len(dst)-n])
	for i := range n {
		dst[from+i] = ' '
	}
	return dst
}
