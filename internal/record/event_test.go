package record

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

// someTracepoints stands for a kernel with two tracepoints, and for a library with a function.
func someTracepoints(spec string) (*probe.Set, error) {
	set := &probe.Set{}
	for _, name := range []string{"sched:sched_switch", "sched:sched_wakeup"} {
		system, event, _ := strings.Cut(name, ":")
		if spec == "t:"+name || spec == "t:sched:*" {
			set.Sources = append(set.Sources, probe.Source{Event: perfevent.Tracepoint(1, name), Format: &ftrace.Format{System: system, Name: event}})
		}
	}
	if spec == "p:libc:f(int, char)" {
		set.AtEntry = true
		set.Sources = []probe.Source{{Event: perfevent.Tracepoint(2, "ringtap_1:f"), Format: &ftrace.Format{System: "ringtap_1", Name: "f"}}}
	}
	if set.Sources == nil {
		return set, errors.New("not found")
	}
	return set, nil
}

func TestEventsAreThoseOfPerfList(t *testing.T) {
	for list, want := range map[string][]Event{
		"cycles":                       {{Name: "cycles", Event: perfevent.CPUCycles()}},
		"cpu-cycles":                   {{Name: "cpu-cycles", Event: perfevent.CPUCycles()}},
		"cpu-clock:u":                  {{Name: "cpu-clock:u", Event: perfevent.CPUClock(), ExcludeKernel: true}},
		"cpu-clock:k,faults":           {{Name: "cpu-clock:k", Event: perfevent.CPUClock(), ExcludeUser: true}, {Name: "faults", Event: perfevent.Software(perfevent.SoftwarePageFaults)}},
		"cycles:uk":                    {{Name: "cycles:uk", Event: perfevent.CPUCycles()}},
		"cycles:upp":                   {{Name: "cycles:upp", Event: perfevent.CPUCycles(), ExcludeKernel: true, Precise: 2}},
		"cycles:P":                     {{Name: "cycles:P", Event: perfevent.CPUCycles()}},
		"LLC-load-misses":              {{Name: "LLC-load-misses", Event: perfevent.HardwareCache(perfevent.CacheLL, perfevent.CacheLoad, true)}},
		"r01a8":                        {{Name: "r01a8", Event: perfevent.Raw(0x1a8)}},
		"mem:0x1000":                   {{Name: "mem:0x1000", Event: perfevent.Breakpoint(perfevent.BreakpointRead|perfevent.BreakpointWrite, 0x1000, 4)}},
		"mem:0x1000/8:w:u":             {{Name: "mem:0x1000/8:w:u", Event: perfevent.Breakpoint(perfevent.BreakpointWrite, 0x1000, 8), ExcludeKernel: true}},
		"sched:sched_switch":           {{Name: "sched:sched_switch", Event: perfevent.Tracepoint(1, "sched:sched_switch")}},
		"sched:*:k":                    {{Name: "sched:sched_switch:k", Event: perfevent.Tracepoint(1, "sched:sched_switch"), ExcludeUser: true}, {Name: "sched:sched_wakeup:k", Event: perfevent.Tracepoint(1, "sched:sched_wakeup"), ExcludeUser: true}},
		"p:libc:f(int, char)":          {{Name: "probe:f", Event: perfevent.Tracepoint(2, "ringtap_1:f"), entry: true}},
		"cpu-clock,sched:sched_wakeup": {{Name: "cpu-clock", Event: perfevent.CPUClock()}, {Name: "sched:sched_wakeup", Event: perfevent.Tracepoint(1, "sched:sched_wakeup")}},
	} {
		got, err := ParseEvents(list, someTracepoints)
		if err != nil {
			t.Errorf("%s: %v", list, err)
			continue
		}
		for i := range got {
			if got[i].HasFields() != (strings.HasPrefix(got[i].Name, "sched:") || strings.HasPrefix(got[i].Name, "probe:")) {
				t.Errorf("%s: %s has fields: %v", list, got[i].Name, got[i].HasFields())
			}
			got[i].source = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", list, got, want)
		}
	}
}

func TestCommasWithinAPMUsEventDoNotEndIt(t *testing.T) {
	got := splitEvents("cycles,cpu/event=0x3c,umask=1/u,faults")
	if want := []string{"cycles", "cpu/event=0x3c,umask=1/u", "faults"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatIsNoEventIsAnError(t *testing.T) {
	for list, want := range map[string]string{
		"":                  "event : it has no name",
		"cycles,":           "event : it has no name",
		"cycels":            "event cycels: no such event; did you mean",
		"{cycles,faults}":   "groups are not recorded",
		"cycles:x":          "modifier 'x'",
		"cycles:pppp":       "at most three modifiers p",
		"rxyz":              "event rxyz: no such event",
		"mem:0x10:q":        "access 'q': r, w or x",
		"mem:x":             `"x" is no address`,
		"mem:0x10/long":     `"long" is no length`,
		"cpu/event=1":       "the second / is missing",
		"sched:sched_swich": "event sched:sched_swich: not found",
		"p:libc:g":          "event p:libc:g: not found",
	} {
		_, err := ParseEvents(list, someTracepoints)
		var event *EventError
		if !errors.As(err, &event) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", list, err, want)
		}
	}
}

func FuzzParseEvents(f *testing.F) {
	for _, seed := range []string{"cycles:u,faults", "cpu/event=0x3c,umask=1/u", "mem:0x1000/8:rw:k", "sched:*:k", "r1a8", "{a,b}", "p:libc:f(int, char)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		events, err := ParseEvents(list, someTracepoints)
		if err == nil && len(events) < 1 {
			t.Errorf("%q has no event", list)
		}
	})
}
