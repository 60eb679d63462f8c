package live

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/perfevent"
)

// equalHits makes the kernel count hits that a tracepoint gets too often to read a sample of each.
// It finds the field values that most hits share. Hits with equal values run the same clauses with
// the same result, so the clauses run once at the end, with the number of hits.
//
//	hits → repeats: a window of hits → most frequent values → Session.CountInKernel
//	                                   end: Session.KernelCounts → the clauses, Hit.Times
type equalHits struct {
	session counter
	logger  *slog.Logger
	kept    []kept // in the order of Session.KernelCounts
	refused bool
	named   bool       // the threads of this process have ownName
	asked   chan asked // receives the session's answer to the last request; nil if there is no request
}

// asked is a request to count hits, and the session's answer.
type asked struct {
	found []kept
	err   error
}

// counter is the part of perfevent.Session that counts hits in the kernel.
type counter interface {
	CountInKernel(sampling int, filters []string, rest string) error
	KernelCounts() ([]uint64, error)
}

// kept is a hit that represents all hits with the same values.
type kept struct {
	source *source
	values values
	sample perfevent.Sample
}

// watchRepeats starts looking for equal hits of the sources whose hits the kernel can count.
func (f *feed) watchRepeats() {
	if !f.ofSystem() || !f.commutes {
		return
	}
	for _, s := range f.sources {
		if s.probe == nil || !hasUnitWeight(s) || s.probe.Record != nil || s.probe.Keep != nil {
			continue
		}
		if fields, comm, ok := s.event.Repeats(f.program); ok {
			s.repeats = newRepeats(s, fields, comm)
		}
	}
}

// look adds a hit to the window of its source.
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

// decide makes the kernel count the hits with a window's most frequent values, if these make up
// at least a quarter of the window.
func (f *feed) decide(s *source) {
	e := &f.equal
	if !s.repeats.isStorm() || e.isAsked() || e.refused {
		return
	}
	var before, found []kept
	for _, k := range e.kept {
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
	// On a busy machine this takes seconds, and the rings must be read in the meantime.
	e.asked = make(chan asked, 1)
	go func() { e.asked <- asked{found, e.ask(sampling, filters, rest, !s.everybody)} }()
}

// ask asks the session to count hits in the kernel. If named is true, it first renames this
// process's threads to ownName, by which the filters exclude them.
func (e *equalHits) ask(sampling int, filters []string, rest string, named bool) error {
	if named && !e.named {
		if err := proc.Live.NameThreads(ownName()); err != nil {
			return err
		}
		e.named = true
	}
	return e.session.CountInKernel(sampling, filters, rest)
}

// isAsked reports whether the session has not yet answered the last request.
func (e *equalHits) isAsked() bool {
	if e.asked == nil {
		return false
	}
	select {
	case answer := <-e.asked:
		e.take(answer)
		return false
	default:
		return true
	}
}

// take records the session's answer.
func (e *equalHits) take(answer asked) {
	e.asked = nil
	switch {
	case answer.err == nil:
		e.kept = append(e.kept, answer.found...)
	case !errors.Is(answer.err, perfevent.ErrGrowing):
		e.refused = true
		e.logger.Debug("no more hits are counted in the kernel", "error", answer.err)
	}
}

// split returns one filter for each of found, and the filter rest for all hits with other values
// than found and before. The filters do not count this process's own hits, which no clause sees.
// Own hits with the values of found or before have no sample either.
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

// filtered adds the source's own filter to a condition.
func (s *source) filtered(condition string) string {
	if s.sample.Filter == "" {
		return condition
	}
	return "(" + s.sample.Filter + ") && (" + condition + ")"
}

// condition returns the kernel filter that hits with the values v pass.
func (s *source) condition(v values) string {
	conditions := []string{"common_pid >= 0"} // always true
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

// settle runs the clauses for the hits that the kernel has counted.
func (f *feed) settle() error {
	if !f.ended {
		if err := f.takeCounts(); err != nil {
			return err
		}
	}
	if f.equal.asked != nil {
		f.equal.take(<-f.equal.asked)
	}
	if len(f.equal.kept) == 0 {
		return nil
	}
	counts, err := f.equal.session.KernelCounts()
	if err != nil {
		return err
	}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		k := &f.equal.kept[i]
		h := &f.hit
		*h = hit{feed: f, source: k.source, sample: &k.sample, raw: k.sample.Raw, comm: k.values.comm}
		f.run(eval.Hit{Time: k.sample.Time, CPU: int(k.sample.CPU), PID: k.sample.PID, TID: k.sample.TID, Times: n, Values: h})
	}
	return nil
}

// ownName is the name of this process's threads while the kernel counts hits. A filter can
// exclude a process only by that name.
func ownName() string { return fmt.Sprintf("ringtap:%d", os.Getpid()) }
