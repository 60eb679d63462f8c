package kprobe

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// errNoProbes is why there are neither kprobe_events nor perf's own.
var errNoProbes = errors.New("it was built without CONFIG_KPROBE_EVENTS")

func attachTracefs(p *Plan, o *AttachOptions) (*Attachment, error) {
	probes := make([]ftrace.Probe, len(p.Sites))
	for i := range p.Sites {
		probes[i] = p.Sites[i].probe(len(p.Sites))
	}
	p.tellApart(probes, o.Merge)
	set, err := ftrace.DefineProbes(probes, ftrace.ProbeOptions{Tracefs: o.Tracefs, File: "kprobe_events",
		Filter: o.Filter, Merge: o.Merge, Logger: o.Logger})
	switch {
	case err == nil:
	case ftrace.IsUnavailable(err) && errors.Is(err, fs.ErrNotExist):
		return nil, errNoProbes
	default:
		return nil, err
	}
	a := &Attachment{Formats: set.Formats, Filter: o.Filter, group: set.Group, merged: set.Merged}
	for _, f := range set.Formats {
		a.Events = append(a.Events, perfevent.Tracepoint(uint64(f.ID), f.System+":"+f.Name))
	}
	return a, nil
}

// followed is how many calls at a time all return probes of a plan follow
// together, at some hundred bytes each.
const followed = 1 << 17

// probe is the site as tracefs takes it, one of so many. A return probe follows as
// many calls at once as it may: the kernel's own number, ten or twice the CPUs,
// is soon used up by calls that sleep, and it misses all others.
func (s *Site) probe(sites int) ftrace.Probe {
	p := ftrace.Probe{Event: s.Event, Place: s.Place(), Return: s.Return, Args: s.Args}
	if s.Return {
		p.MaxActive = min(max(followed/sites, 64), ftrace.MaxActiveLimit)
	}
	return p
}

// tellApart gives sites that have no name places by their offset from where the
// kernel's code begins, as perf probe does, where an address says too little. Of the places
// of one event, which merge makes, the kernel compares names and offsets, and an address has neither
// for it: a second one would be the same place (trace_kprobe_has_same_kprobe in kernel/trace/trace_kprobe.c).
// Of a return at an address, 6.1 knows no $retval (__trace_kprobe_create sets TPARG_FL_RETURN with a symbol alone).
func (p *Plan) tellApart(probes []ftrace.Probe, merge bool) {
	for i := range p.Sites {
		if s := &p.Sites[i]; s.Symbol == "" && (merge || s.Return) && p.text != 0 && s.Address > p.text {
			probes[i].Place = fmt.Sprintf("_stext+%d", s.Address-p.text)
		}
	}
}
