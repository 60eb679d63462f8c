package show

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// The width of a time series' graph, and of the column with its minimum, in characters.
const (
	graphWidth   = 53
	minimumWidth = 21
)

// A row is one interval of a time series.
type row struct {
	at time.Time
	n  uint64
	ok bool // the interval has a value
}

// rows returns the intervals of an entry, from its first value to the last value of the map.
func (p *Printer) rows(m *value.Map, e *value.Entry) []row {
	points := e.Points()
	last := m.LastEpoch()
	for len(points) > 0 && points[0].Epoch+uint64(m.Spec.Count) <= last {
		points = points[1:]
	}
	if len(points) == 0 {
		return nil
	}
	var rows []row
	for epoch := points[0].Epoch; epoch <= last; epoch++ {
		r := row{at: time.Unix(0, int64(epoch*m.Interval))}
		if len(points) > 0 && points[0].Epoch == epoch {
			r.n, r.ok = points[0].N, true
			points = points[1:]
		}
		rows = append(rows, r)
	}
	return rows
}

// A unit is how the times of a time series are printed.
type unit struct {
	name   string
	length time.Duration
	digits int // of the fraction of a second
}

// timeUnit returns the unit for intervals of this length.
func timeUnit(interval time.Duration) unit {
	switch {
	case interval >= time.Second:
		return unit{"s", time.Second, 0}
	case interval >= time.Millisecond:
		return unit{"ms", time.Millisecond, 3}
	case interval >= time.Microsecond:
		return unit{"μs", time.Microsecond, 6}
	}
	return unit{"ns", 1, 9}
}

// drawSeries appends the graph of a time series.
func (p *Printer) drawSeries(b []byte, m *value.Map, e *value.Entry) []byte {
	rows := p.rows(m, e)
	if len(rows) == 0 {
		return append(b, "<no data>"...)
	}
	signed := m.Series.Signed
	low, high := span(rows, signed)
	// The unit follows from the distance between rows. A single row has none.
	var interval time.Duration
	if len(rows) > 1 {
		interval = time.Duration(m.Interval)
	}
	u := timeUnit(interval)
	heading, width := "hh:mm:ss", len("hh:mm:ss")
	if u.digits > 0 {
		heading += "." + u.name
		width += 1 + u.digits
	}
	b = pad(b, width+1)
	b = scale(b, low, high, signed)
	b = append(b, heading...)
	b = pad(b, width+1-utf8.RuneCountInString(heading))
	if u.name == "μs" {
		b = b[:len(b)-1] // bpftrace counts the two bytes of μ here
	}
	b = append(b, '|')
	for range graphWidth - 2 {
		b = append(b, '_')
	}
	b = append(b, "|\n"...)
	for _, r := range rows {
		b = r.draw(b, u, low, high, signed)
	}
	b = pad(b, width+1)
	b = append(b, 'v')
	for range graphWidth - 2 {
		b = append(b, '_')
	}
	b = append(b, "v\n"...)
	b = pad(b, width+1)
	return scale(b, low, high, signed)
}

// span returns the minimum and the maximum. If they are equal, it moves them apart.
func span(rows []row, signed bool) (low, high uint64) {
	low, high = rows[0].n, rows[0].n
	for _, r := range rows {
		if r.ok && less(r.n, low, signed) {
			low = r.n
		}
		if r.ok && less(high, r.n, signed) {
			high = r.n
		}
	}
	if low == high {
		if less(low-1, low, signed) {
			low--
		}
		if less(high, high+1, signed) {
			high++
		}
	}
	return low, high
}

func less(a, b uint64, signed bool) bool {
	if signed {
		return int64(a) < int64(b)
	}
	return a < b
}

// scale appends the line with the minimum and the maximum.
func scale(b []byte, low, high uint64, signed bool) []byte {
	least, most := decimal(low, signed), decimal(high, signed)
	b = append(b, least...)
	b = pad(b, minimumWidth-len(least))
	b = pad(b, graphWidth-minimumWidth-len(most))
	b = append(b, most...)
	return append(b, '\n')
}

func decimal(n uint64, signed bool) string {
	if signed {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatUint(n, 10)
}

// draw appends the line of an interval.
func (r *row) draw(b []byte, u unit, low, high uint64, signed bool) []byte {
	b = r.at.AppendFormat(b, "15:04:05")
	if u.digits > 0 {
		fraction := strconv.Itoa(1e9 + r.at.Nanosecond())[1:]
		b = append(append(b, '.'), fraction[:u.digits]...)
	}
	b = append(b, ' ')
	start := len(b)
	b = pad(b, graphWidth)
	line := b[start:]
	line[0], line[graphWidth-1] = '|', '|'
	width := float32(high - low)
	if signed && int64(low) < 0 && int64(high) > 0 {
		line[int(float32(graphWidth)*float32(-low)/width)] = '.'
	}
	if !r.ok {
		return append(b, " -\n"...)
	}
	offset := int(float32(graphWidth-1) * float32(r.n-low) / width)
	line[min(max(offset, 0), graphWidth-1)] = '*'
	b = append(b, ' ')
	b = append(b, decimal(r.n, signed)...)
	return append(b, '\n')
}

// jsonSeries appends a time series as JSON, with times in UTC.
func (p *Printer) jsonSeries(b []byte, m *value.Map, e *value.Entry) []byte {
	b = append(b, '[')
	first := true
	for _, r := range p.rows(m, e) {
		if !r.ok {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, `{"interval_start":"`...)
		b = r.at.UTC().AppendFormat(b, "2006-01-02 15:04:05.000000000")
		b = append(b, `","value":`...)
		b = append(b, decimal(r.n, m.Series.Signed)...)
		b = append(b, '}')
	}
	return append(b, ']')
}
