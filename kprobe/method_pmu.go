package kprobe

import (
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// fewEvents is how many of perf's own kprobe events may serve one probe. Each is
// a probe of its own that the kernel handles at every hit, whether or not it
// watches the thread that hit; any number of perf events of one tracefs event
// cost nothing more.
const fewEvents = 4

var (
	errFetches = errors.New("it fetches no arguments")
	errFilters = errors.New("it has no filter")
)

// notPMU says what is better done by events of tracefs, "" if nothing is.
func (p *Plan) notPMU(o *AttachOptions) string {
	switch {
	case p.fetches():
		return "there are arguments"
	case o.Filter != "":
		return "there is a filter"
	case p.returns():
		// Each of the events is a return probe of its own, and takes the others'
		// trampolines for where the function returns to. They follow few calls
		// at once and don't tell what they miss.
		return "a single return probe gives more information"
	case len(p.Sites) > 1:
		return "there are several sites"
	case o.PerSampling == 0 || o.PerSampling > fewEvents:
		return "it would take many events, each of which costs time at every hit"
	}
	return ""
}

func attachPMU(p *Plan, o *AttachOptions) (*Attachment, error) {
	switch {
	case p.fetches():
		return nil, errFetches
	case o.Filter != "":
		return nil, errFilters
	}
	a := &Attachment{}
	for i := range p.Sites {
		s := &p.Sites[i]
		function, offset := s.Symbol, s.Offset
		if function == "" {
			offset = s.Address
		}
		event, err := perfevent.Kprobe(function, offset, s.Return)
		if errors.Is(err, perfevent.ErrNoEvent) {
			return nil, errNoProbes
		}
		if err != nil {
			return nil, fmt.Errorf("probe %s: %w", s.Event, err)
		}
		a.Events = append(a.Events, event)
		a.Formats = append(a.Formats, ftrace.UprobeFormat("kprobes", s.Event, s.Return))
	}
	return a, nil
}
