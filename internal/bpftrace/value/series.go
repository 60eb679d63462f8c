package value

// series is the cell of tseries: a ring of the last intervals.
type series struct {
	points []point
}

// point is one interval of a series.
type point struct {
	epoch uint64 // the interval's number: time / Interval; 0 if unused
	n     uint64
	num   uint64
}

// open creates the ring and returns its size in bytes.
func (s *series) open(count int) int64 {
	s.points = make([]point, count)
	return int64(count) * 24
}

// add adds n to the interval of the time now, in nanoseconds.
func (s *series) add(spec *Spec, n, now uint64) {
	epoch := now / spec.Interval
	p := &s.points[epoch%uint64(len(s.points))]
	if epoch < p.epoch {
		return
	}
	if epoch > p.epoch {
		*p = point{epoch: epoch}
	}
	switch spec.Agg {
	case "avg", "sum":
		p.n += n
	case "min", "max":
		if p.num == 0 || beats(n, p.n, spec.Agg == "min", spec.Series.Signed) {
			p.n = n
		}
	default:
		p.n = n
	}
	p.num++
}

// reset clears the intervals. If gone is set, it also frees their memory and returns its size in
// bytes.
func (s *series) reset(gone bool) int64 {
	n := int64(len(s.points)) * 24
	if gone {
		*s = series{}
		return n
	}
	clear(s.points)
	return 0
}
