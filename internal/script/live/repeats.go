package live

import (
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// values are what tells all that the clauses at a hit do.
type values struct {
	n    [maxValues]uint64
	comm string
}

// Bounds of what is counted apart: of the values of a hit, and of the combinations of them of
// a source, each of which costs every hit of the tracepoint the test of a filter. The later half of
// these are only for what is a quarter of all hits or more: what fills a machine with processes that
// begin must leave room for a storm.
const (
	maxValues = 3
	maxApart  = 12
)

// repeats looks for values that come again at the hits of a source.
type repeats struct {
	rounds
	fields []*ftrace.Field
	comm   bool
	seen   map[values]*seen
}

// rounds looks at window hits of a source out of each round. It is a storm where they took no longer
// than storm in several rounds, one after the other.
type rounds struct {
	hits     int // of the round
	storms   int // rounds of a storm
	from, to uint64
}

type seen struct {
	times  int
	sample perfevent.Sample // the first; Raw alone is kept
}

const (
	window = 512
	round  = 4096
	storm  = 2_500_000 // nanoseconds, which is 200,000 hits a second
	storms = 3
)

// newRepeats returns what looks at a source's hits, nil if they can't be counted apart.
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

// looks counts a hit, and tells whether it is in a window.
func (r *rounds) looks(at uint64) bool {
	if r.hits++; r.hits > window {
		if r.hits == round {
			r.hits = 0
		}
		return false
	}
	if r.hits == 1 {
		r.from, r.to = at, at
	}
	r.from, r.to = min(r.from, at), max(r.to, at)
	return true
}

// isStorm tells whether the window that has been looked at is one of a storm that lasts.
func (r *rounds) isStorm() bool {
	if r.to-r.from > storm {
		r.storms = 0
		return false
	}
	r.storms++
	return r.storms >= storms
}

// most returns the values that most hits of the window have, the most frequent first, unless they
// are kept already. There are none where they are not a quarter of all.
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
		if n < window/16 || known >= maxApart/2 && n < window/4 || known == maxApart {
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
