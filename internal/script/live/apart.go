package live

import (
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/script/eval"
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
	logger  *slog.Logger
	kept    []kept // in the order in which the session has them
	refused bool
	named   bool       // the threads of this process have ownName
	asked   chan asked // has the answer to what the session was asked last; nil if that is known
}

// asked is what a session was asked to count, and its answer.
type asked struct {
	found []kept
	err   error
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
	if !r.looks(h.sample.Time) {
		return
	}
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
	a := &f.apart
	if !s.repeats.isStorm() || a.isAsked() || a.refused {
		return
	}
	var before, found []kept
	for _, k := range a.kept {
		if k.source == s {
			before = append(before, k)
		}
	}
	for _, v := range s.repeats.most(before) {
		found = append(found, kept{s, v, s.repeats.seen[v].sample})
	}
	if len(found) == 0 {
		return
	}
	sampling := slices.Index(f.sources, s)
	filters, rest := s.split(before, found)
	// On a machine that is busy with the storm this takes seconds, in which the rings must be read.
	a.asked = make(chan asked, 1)
	go func() { a.asked <- asked{found, a.ask(sampling, filters, rest, !s.everybody)} }()
}

// ask asks the session to count hits apart, without those of this process if it is alone.
func (a *apart) ask(sampling int, filters []string, rest string, named bool) error {
	if named && !a.named {
		if err := nameSelf(); err != nil {
			return err
		}
		a.named = true
	}
	return a.session.CountApart(sampling, filters, rest)
}

// isAsked tells whether there is no answer yet to what the session was asked last.
func (a *apart) isAsked() bool {
	if a.asked == nil {
		return false
	}
	select {
	case answer := <-a.asked:
		a.take(answer)
		return false
	default:
		return true
	}
}

// take takes the answer of the session.
func (a *apart) take(answer asked) {
	a.asked = nil
	switch {
	case answer.err == nil:
		a.kept = append(a.kept, answer.found...)
	case !errors.Is(answer.err, perfevent.ErrGrowing):
		a.refused = true
		a.logger.Debug("no more hits are counted apart", "error", answer.err)
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

// settle runs the clauses for what the kernel has counted.
func (f *feed) settle() error {
	if !f.ended {
		if err := f.takeCounts(); err != nil {
			return err
		}
	}
	if f.apart.asked != nil {
		f.apart.take(<-f.apart.asked)
	}
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
