package live

import (
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// values are the values of a hit that determine everything its clauses do.
type values struct {
	n    [maxValues]uint64
	comm string
}

// Bounds of counting in the kernel: the values of a hit, and the filters of a source. Every hit of
// the tracepoint is tested against each filter. The second half of the filters is only for values
// that at least a quarter of all hits have. Otherwise many short-lived processes could use up all
// filters before a storm comes.
const (
	maxValues  = 3
	maxFilters = 12
)

// repeats looks for the most frequent values at the hits of a source.
type repeats struct {
	rounds
	fields []*ftrace.Field
	comm   bool
	seen   map[values]*seen
}

// rounds looks at a window in each round of a source's hits: the first 512 out of 4096. The hits are a
// storm if the windows of at least 3 rounds, one after the other, took 2.5 ms at most.
type rounds struct {
	hits     int // of the round
	storms   int // rounds so fast, one after the other
	from, to uint64
}

type seen struct {
	times  int
	sample perfevent.Sample // the first hit's; only Header and Raw are kept
}

const (
	window = 512
	round  = 4096
	storm  = 2_500_000 // nanoseconds, which is 200,000 hits a second
	storms = 3
)

// newRepeats returns the repeats of a source, or nil if the kernel can't count its hits by these fields.
func newRepeats(s *source, fields []string, comm bool) *repeats {
	r := &repeats{comm: comm, seen: make(map[values]*seen)}
	for _, name := range fields {
		f := s.probe.Format.Field(name)
		if f == nil || f.Array || f.Location != ftrace.Inline || f.String {
			return nil
		}
		r.fields = append(r.fields, f)
	}
	if len(r.fields) > maxValues {
		return nil
	}
	return r
}

// looks counts a hit, and reports whether it is in a window.
func (r *rounds) looks(time uint64) bool {
	if r.hits++; r.hits > window {
		if r.hits == round {
			r.hits = 0
		}
		return false
	}
	if r.hits == 1 {
		r.from, r.to = time, time
	}
	r.from, r.to = min(r.from, time), max(r.to, time)
	return true
}

// isStorm reports whether a storm lasts. It must be called once at the end of each window.
func (r *rounds) isStorm() bool {
	if r.to-r.from > storm {
		r.storms = 0
		return false
	}
	r.storms++
	return r.storms >= storms
}

// most returns the most frequent values of the window, in descending order, without the values in
// before. It returns nil if they make up less than a quarter of the window.
func (r *repeats) most(before []kept) (found []values) {
	for v := range r.seen {
		if !slices.ContainsFunc(before, func(k kept) bool { return k.values == v }) && !(r.comm && !plan.Quotable(v.comm)) {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b values) int { return r.seen[b].times - r.seen[a].times })
	hits := 0
	for i, v := range found {
		n, known := r.seen[v].times, len(before)+i
		if n < window/16 || known >= maxFilters/2 && n < window/4 || known == maxFilters {
			found = found[:i]
			break
		}
		hits += n
	}
	if hits < window/4 {
		return nil
	}
	return found
}
