package kprobe

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// errNoProbes says that the kernel has neither kprobe_events nor perf's own kprobe events.
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

// followed is the number of calls that all return probes of a plan can follow at the same time.
// Each takes some hundred bytes.
const followed = 1 << 17

// probe returns the site's definition for tracefs; sites is the number of all sites. A return
// probe gets as high a MaxActive as possible: calls that sleep soon use up the kernel's
// default, ten or twice the CPUs, and it misses all others.
func (s *Site) probe(sites int) ftrace.Probe {
	p := ftrace.Probe{Event: s.Event, Place: s.Place(), Return: s.Return, Args: s.Args}
	if s.Return {
		p.MaxActive = min(max(followed/sites, 64), ftrace.MaxActiveLimit)
	}
	return p
}

// tellApart gives sites without a name a place relative to the start of the kernel's code, as
// perf probe does, for two reasons:
//
//   - Among the places of a merged event, the kernel compares only names and offsets. An address
//     has neither, so a second one would count as the same place (trace_kprobe_has_same_kprobe in
//     kernel/trace/trace_kprobe.c).
//   - In a return probe at an address, 6.1 does not know $retval (__trace_kprobe_create sets
//     TPARG_FL_RETURN only with a symbol).
func (p *Plan) tellApart(probes []ftrace.Probe, merge bool) {
	for i := range p.Sites {
		if s := &p.Sites[i]; s.Symbol == "" && (merge || s.Return) && p.text != 0 && s.Address > p.text {
			probes[i].Place = fmt.Sprintf("_stext+%d", s.Address-p.text)
		}
	}
}
