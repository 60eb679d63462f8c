package kprobe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// Method is one of the kernel's mechanisms to trace its own functions.
type Method string

// The methods, in the order in which they are tried. Each one has more restrictions than the
// one before, or costs more.
const (
	// MethodAny is the zero value: the first method that can do what is asked.
	MethodAny Method = ""
	// MethodPMU uses perf's own kprobe events, which vanish with their file descriptors. They
	// have no arguments and no filter, need a separate probe for each watched CPU or thread,
	// and are never inherited.
	MethodPMU Method = "pmu"
	// MethodKprobeEvents uses tracefs events, which have no restrictions.
	MethodKprobeEvents Method = "kprobe_events"
	// MethodFunction uses the function tracer: entries of any number of functions in one event,
	// without arguments, filter or user stacks.
	MethodFunction Method = "ftrace:function"
	// MethodBreakpoint uses execution breakpoints: at most perfevent.MaxBreakpoints
	// instructions, only registers as arguments, no filter. An arm64 kernel records a hit twice
	// if it is interrupted before it has stepped over the instruction.
	MethodBreakpoint Method = "breakpoint"
)

// Refusal says why a method cannot be used.
type Refusal struct {
	Method Method
	Err    error
}

// MethodError is returned if no method can do what is asked. It has the reason for each one,
// and its message suggests alternatives.
type MethodError struct {
	What     string    // the thing to trace
	Refusals []Refusal // one for each method tried, in order
	Forced   bool      // only the requested method was tried
}

// Error returns a one-line message.
func (e *MethodError) Error() string {
	text := e.Reasons()
	if !e.Forced || errors.Is(e, errNoProbes) {
		text += "; tracepoints (ringtap tpoint -l) and user functions (ringtap uprobe) can be traced"
	}
	return text
}

// Reasons returns the reasons without the alternatives.
func (e *MethodError) Reasons() string {
	var out strings.Builder
	if e.Forced {
		fmt.Fprintf(&out, "%s can't be traced by", e.What)
	} else {
		fmt.Fprintf(&out, "this kernel can't trace %s by", e.What)
	}
	for i, r := range e.Refusals {
		switch last := i == len(e.Refusals)-1; {
		case i == 0:
		case e.Refusals[i-1].Err.Error() == r.Err.Error():
			out.WriteString(" and")
		case last:
			fmt.Fprintf(&out, " (%v), or by", e.Refusals[i-1].Err)
		default:
			fmt.Fprintf(&out, " (%v), by", e.Refusals[i-1].Err)
		}
		fmt.Fprintf(&out, " %s", r.Method)
	}
	if n := len(e.Refusals); n > 0 {
		fmt.Fprintf(&out, " (%v)", e.Refusals[n-1].Err)
	}
	return escape.Text(out.String())
}

// Unwrap returns the error of each method.
func (e *MethodError) Unwrap() []error {
	errs := make([]error, len(e.Refusals))
	for i, r := range e.Refusals {
		errs[i] = r.Err
	}
	return errs
}
