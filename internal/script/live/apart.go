package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/script/eval"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// apart is what a run does where hits come in storms: it finds the values that most hits of a
// tracepoint have, and lets the kernel count these hits, each of which runs the same clauses
// with the same values. They run once for all in the end.
//
//	hits → repeats: a window of them → values of most → Session.CountApart
//	                                       end: Session.Apart → the clauses, Hit.Times
type apart struct {
	session counter
	kept    []kept // in the order in which the session has them
	refused bool
	named   bool // the threads of this process have ownName
}

// counter is the part of perfevent.Session that counts apart.
type counter interface {
	CountApart(sampling int, filters []string, rest string) error
	Apart() ([]uint64, error)
}

// kept is a hit that stands for all of its like.
type kept struct {
	source *source
	values values
	sample perfevent.Sample
}

// values are what tells all that the clauses at a hit do.
type values struct {
	n    [maxValues]uint64
	comm string
}

// Bounds of what is counted apart: of the values of a hit, and of the combinations of them of
// a source, each of which costs every hit of the tracepoint the test of a filter.
const (
	maxValues = 3
	maxApart  = 12
)

// repeats looks for values that come again at the hits of a source. It looks at window hits out
// of each round, unless they take longer than storm.
type repeats struct {
	fields   []*ftrace.Field
	comm     bool
	hits     int // of the round
	from, to uint64
	seen     map[values]*seen
}

type seen struct {
	times  int
	sample perfevent.Sample // the first; Raw alone is kept
}

const (
	window = 512
	round  = 4096
	storm  = 20_000_000 // nanoseconds
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

// watchRepeats has the sources looked at whose hits can be counted apart.
func (f *feed) watchRepeats() {
	if !f.ofSystem() || !f.commutes {
		return
	}
	for _, s := range f.sources {
		if s.probe == nil || !unweighted(s) || s.probe.Record != nil || s.probe.Keep != nil {
			continue
		}
		if fields, comm, ok := s.event.Repeats(f.program); ok {
			s.repeats = newRepeats(s, fields, comm)
		}
	}
}

// look looks at a hit.
func (f *feed) look(h *hit) {
	r := h.source.repeats
	if r.hits++; r.hits > window {
		if r.hits == round {
			r.hits = 0
		}
		return
	}
	at := h.sample.Time
	if r.hits == 1 {
		r.from, r.to = at, at
	}
	r.from, r.to = min(r.from, at), max(r.to, at)
	var v values
	for i, field := range r.fields {
		v.n[i], _ = field.Uint(h.raw)
	}
	if r.comm {
		v.comm = h.Comm()
	}
	of := r.seen[v]
	if of == nil {
		of = &seen{sample: perfevent.Sample{Header: h.sample.Header, Raw: slices.Clone(h.raw)}}
		r.seen[v] = of
	}
	of.times++
	if r.hits == window {
		f.decide(h.source)
		clear(r.seen)
	}
}

// decide has the kernel count what most hits of a window are, if there is such a thing.
func (f *feed) decide(s *source) {
	r := s.repeats
	if r.to-r.from > storm || f.apart.refused {
		return
	}
	var before []kept
	for _, k := range f.apart.kept {
		if k.source == s {
			before = append(before, k)
		}
	}
	var found []kept
	hits := 0
	for v, of := range r.seen {
		already := slices.ContainsFunc(before, func(k kept) bool { return k.values == v })
		if of.times < window/16 || already || r.comm && !plan.Quotable(v.comm) || len(before)+len(found) == maxApart {
			continue
		}
		found = append(found, kept{s, v, of.sample})
		hits += of.times
	}
	if hits < window/4 {
		return
	}
	if !f.apart.named && !s.everybody {
		if err := nameSelf(); err != nil {
			f.apart.refused = true
			f.options.Logger.Debug("no hits are counted apart", "error", err)
			return
		}
		f.apart.named = true
	}
	filters, rest := s.split(before, found)
	err := f.apart.session.CountApart(slices.Index(f.sources, s), filters, rest)
	switch {
	case err == nil:
		f.apart.kept = append(f.apart.kept, found...)
	case !errors.Is(err, perfevent.ErrGrowing):
		f.apart.refused = true
		f.options.Logger.Debug("no more hits are counted apart", "error", err)
	}
}

// split returns the filters of what is found, and that of all hits which are neither that nor
// what was found before. Hits of this process, which no clause sees, are not counted, and have no
// sample where they are like the others.
func (s *source) split(before, found []kept) (filters []string, rest string) {
	var others []string
	for _, k := range before {
		others = append(others, "!("+s.condition(k.values)+")")
	}
	for _, k := range found {
		others = append(others, "!("+s.condition(k.values)+")")
		counted := s.condition(k.values)
		if !s.repeats.comm && !s.everybody {
			counted += ` && COMM != "` + ownName() + `"`
		}
		filters = append(filters, s.filtered(counted))
	}
	return filters, s.filtered(strings.Join(others, " && "))
}

// filtered adds the filter that the source has.
func (s *source) filtered(condition string) string {
	if s.sample.Filter == "" {
		return condition
	}
	return "(" + s.sample.Filter + ") && (" + condition + ")"
}

// condition returns what hits of values are, to the kernel.
func (s *source) condition(v values) string {
	conditions := []string{"common_pid >= 0"} // which is so
	if len(s.repeats.fields) > 0 || s.repeats.comm {
		conditions = nil
	}
	for i, field := range s.repeats.fields {
		n := strconv.FormatUint(v.n[i], 10)
		if field.Signed {
			shift := 64 - 8*field.Size
			n = strconv.FormatInt(int64(v.n[i]<<shift)>>shift, 10)
		}
		conditions = append(conditions, field.Name+" == "+n)
	}
	if s.repeats.comm {
		conditions = append(conditions, `COMM == "`+v.comm+`"`)
	}
	return strings.Join(conditions, " && ")
}

// ownName is what the threads of this process are called while the kernel counts hits: it can
// leave a process out by this alone.
func ownName() string { return fmt.Sprintf("ringtap:%d", os.Getpid()) }

// nameSelf gives all threads of this process the name. A thread that is born has that of the one
// that makes it, so that it is done when all are seen to have it twice.
func nameSelf() error {
	for clean := 0; clean < 2; {
		clean++
		comms, err := filepath.Glob("/proc/self/task/*/comm")
		if err != nil {
			return err
		}
		for _, path := range comms {
			is, err := os.ReadFile(path)
			if errors.Is(err, os.ErrNotExist) {
				continue // it has ended
			}
			if err == nil && strings.TrimSuffix(string(is), "\n") != ownName() {
				clean = 0
				err = os.WriteFile(path, []byte(ownName()), 0)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// settle runs the clauses for what the kernel has counted.
func (f *feed) settle() error {
	if len(f.apart.kept) == 0 {
		return nil
	}
	counts, err := f.apart.session.Apart()
	if err != nil {
		return err
	}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		k := &f.apart.kept[i]
		h := &f.hit
		*h = hit{feed: f, source: k.source, sample: &k.sample, raw: k.sample.Raw, comm: k.values.comm}
		f.run(eval.Hit{Time: k.sample.Time, CPU: int(k.sample.CPU), PID: k.sample.PID, TID: k.sample.TID, Times: n, Values: h})
	}
	return nil
}
