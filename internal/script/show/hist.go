package show

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/internal/script/value"
)

// The width of a histogram's bar and of the columns before it, in characters.
const (
	barWidth   = 52
	boundWidth = 16
	countWidth = 8
)

// An interval is a row of a histogram: the numbers from low to high-1.
type interval struct {
	low, high         int64
	lowText, highText string
	noLow, noHigh     bool // the first and the last row may have no bound
	single            bool // the row is written with its one number
	count             uint64
}

// intervals returns the rows of an entry's histogram, from the first that counts something to
// the last.
func (p *Printer) intervals(m *value.Map, e *value.Entry) []interval {
	counts := e.Buckets()
	first := slices.IndexFunc(counts, func(n uint64) bool { return n != 0 })
	if first < 0 {
		return nil
	}
	var rows []interval
	for i := first; i < len(counts); i++ {
		var row interval
		if m.Spec.Value.Kind == types.LHist {
			row = p.linearInterval(m, i, len(counts))
		} else {
			row = histInterval(i, m.Bits)
		}
		row.count = counts[i]
		rows = append(rows, row)
	}
	for rows[len(rows)-1].count == 0 {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// histInterval returns the row of a bucket of hist.
func histInterval(bucket, bits int) interval {
	if bucket == 0 {
		return interval{noLow: true, high: 0, highText: "0"}
	}
	row := interval{}
	row.low, row.lowText = histBound(bucket-1, bits)
	row.high, row.highText = histBound(bucket, bits)
	row.single = bucket <= 2<<bits
	return row
}

// histBound returns the lowest number of the bucket after a bucket of hist, and how it is
// written: powers of 1024 have a unit.
func histBound(bucket, bits int) (int64, string) {
	if bucket <= 2<<bits {
		return int64(bucket), strconv.Itoa(bucket)
	}
	n := uint64(1) << bits
	mantissa := n + uint64(bucket)&(n-1)
	power := bucket>>bits - 1
	bound := int64(mantissa << power)
	unit := power / 10
	text := strconv.FormatUint(mantissa<<(power-10*unit), 10)
	if unit > 0 {
		text += "KMGTPE"[unit-1 : unit]
	}
	return bound, text
}

// linearInterval returns the row of a bucket of lhist.
func (p *Printer) linearInterval(m *value.Map, bucket, buckets int) interval {
	row := interval{low: m.Min + int64(bucket-1)*m.Step, high: m.Min + int64(bucket)*m.Step}
	switch bucket {
	case 0:
		row.noLow = true
	case buckets - 1:
		row.noHigh = true
	default:
		row.single = p.Dialect.Singles && row.high == row.low+1
	}
	if row.noHigh && !p.Dialect.Singles {
		row.low = m.Max
	}
	row.lowText, row.highText = p.linearBound(row.low, m.Step), p.linearBound(row.high, m.Step)
	return row
}

// linearBound returns how a bound of lhist is written.
func (p *Printer) linearBound(n, step int64) string {
	switch {
	case n == 0 || !p.Dialect.Units && step%1024 != 0:
	case n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "M"
	case n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "K"
	}
	return strconv.FormatInt(n, 10)
}

// bounds returns the interval as it is written.
func (r *interval) bounds() string {
	switch {
	case r.noLow:
		return "(..., " + r.highText + ")"
	case r.noHigh:
		return "[" + r.lowText + ", ...)"
	case r.single:
		return "[" + r.lowText + "]"
	}
	return "[" + r.lowText + ", " + r.highText + ")"
}

// draw appends the rows of a histogram. The counts are divided by div, the bars are not.
func draw(b []byte, rows []interval, div uint64) []byte {
	var most uint64
	for _, r := range rows {
		most = max(most, r.count)
	}
	for _, r := range rows {
		bounds := r.bounds()
		b = append(b, bounds...)
		b = pad(b, boundWidth-len(bounds))
		count := strconv.FormatUint(r.count/div, 10)
		b = pad(b, countWidth-len(count))
		b = append(b, count...)
		b = append(b, " |"...)
		bar := int(float32(r.count) / float32(most) * barWidth)
		b = append(b, strings.Repeat("@", bar)...)
		b = pad(b, barWidth-bar)
		b = append(b, "|\n"...)
	}
	return b
}

// jsonIntervals appends the rows of a histogram as JSON. There the bounds are included.
func (p *Printer) jsonIntervals(b []byte, rows []interval, div uint64) []byte {
	b = append(b, '[')
	for i, r := range rows {
		if i > 0 {
			b = append(b, p.Dialect.Separator...)
		}
		b = append(b, '{')
		if !r.noLow {
			b = append(b, `"min": `...)
			b = p.jsonInt(b, r.low)
			b = append(b, ", "...)
		}
		if !r.noHigh {
			b = append(b, `"max": `...)
			b = p.jsonInt(b, r.high-1)
			b = append(b, ", "...)
		}
		b = append(b, `"count": `...)
		b = strconv.AppendUint(b, r.count/div, 10)
		b = append(b, '}')
	}
	return append(b, ']')
}
