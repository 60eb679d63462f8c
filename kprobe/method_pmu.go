package kprobe

import (
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// fewEvents is the maximum number of perf's own kprobe events for one probe. Each event is a
// separate probe, which the kernel handles at every hit, even if the event does not watch that
// thread. With a tracefs event, the number of perf events makes no difference.
const fewEvents = 4

var (
	errFetches = errors.New("it fetches no arguments")
	errFilters = errors.New("it has no filter")
)

// notPMU returns the reason why tracefs events are better here, or "".
func (p *Plan) notPMU(o *AttachOptions) string {
	switch {
	case p.fetches():
		return "there are arguments"
	case o.Filter != "":
		return "there is a filter"
	case p.returns():
		// Each event is a separate return probe, and records the trampolines of the others as
		// return addresses. Such probes follow only a few calls at the same time and do not
		// count missed ones.
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
