package live

import (
	"errors"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/kprobe"
)

// at puts an error at the first attach point of an event.
func at(event *plan.Event, err error) error {
	point := event.Point
	if point == nil { // the event belongs to no clause
		return err
	}
	e := &syntax.Error{Pos: point.Pos, Len: len(point.Text), Msg: err.Error(), Err: err}
	unknown, noWay := (*eventError)(nil), (*kprobe.MethodError)(nil)
	switch {
	case errors.As(err, &unknown):
		e.Hint = unknown.near()
	case errors.As(err, &noWay):
		e.Msg = noWayTo(event, noWay)
		e.Hint = "tracepoints and functions of programs can be probed: ringtap run -l 'tracepoint:*' lists them"
	}
	if event.Place == plan.Kernel {
		missing := (*kprobe.SymbolError)(nil)
		if name := tellsToo(event); name != "" {
			e.Hint = "tracepoint:" + name + " tells of it"
		} else if errors.As(err, &missing) && len(missing.Today) == 0 {
			e.Hint = "a module of the kernel that is not loaded may have it"
		}
	}
	return e
}

// noWayTo returns the reasons why the kernel can't probe an event. It leaves out the text of fetch
// arguments, which is not in the program.
func noWayTo(event *plan.Event, err *kprobe.MethodError) string {
	plain := kprobe.MethodError{What: event.Point.Text, Forced: err.Forced, Refusals: make([]kprobe.Refusal, len(err.Refusals))}
	for i, r := range err.Refusals {
		if text := r.Err.Error(); strings.HasPrefix(text, "argument ") {
			_, why, _ := strings.Cut(text, ": ")
			r.Err = errors.New(why)
		}
		plain.Refusals[i] = r
	}
	return plain.Reasons()
}

// tellsToo returns a tracepoint of this kernel that can replace a probe of the event's function, or "" if
// there is none.
func tellsToo(event *plan.Event) string {
	_, function, _ := strings.Cut(event.Definition, ":")
	function, _, _ = strings.Cut(function, "+")
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return ""
	}
	for _, name := range kprobe.Instead(function[strings.LastIndexByte(function, ':')+1:]) {
		system, of, _ := strings.Cut(name, ":")
		if _, err := tracefs.Format(system, of); err == nil {
			return name
		}
	}
	return ""
}
