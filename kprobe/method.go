package kprobe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/escape"
)

// Method is one of the kernel's means to trace its own functions.
type Method string

// The ways, in the order in which they are tried. Each can do less than the
// one before, or costs more.
const (
	// MethodAny is the zero value: the first that can do what is asked.
	MethodAny Method = ""
	// MethodPMU is perf's own kprobe events, which vanish with their file
	// descriptors: no arguments, no filter, a probe of its own for each CPU or
	// thread that is watched, and never inherited.
	MethodPMU Method = "pmu"
	// MethodKprobeEvents is events of tracefs, which can do everything.
	MethodKprobeEvents Method = "kprobe_events"
	// MethodFunction is the function tracer: entries of any number of functions in
	// one event, no arguments, no filter, no user stacks.
	MethodFunction Method = "ftrace:function"
	// MethodBreakpoint is execution breakpoints: at most perfevent.MaxBreakpoints
	// instructions, arguments that are registers, no filter. An arm64 kernel
	// records a hit again if it is interrupted before it has stepped over the
	// instruction.
	MethodBreakpoint Method = "breakpoint"
)

// Refusal says why a way does not do.
type Refusal struct {
	Method Method
	Err    error
}

// MethodError says that there is no way to do what is asked: why each fails, and
// what would work instead.
type MethodError struct {
	What     string    // that was to be traced
	Refusals []Refusal // of each way that was tried, in order
	Forced   bool      // only the one that was asked for was tried
}

// Error is one line.
func (e *MethodError) Error() string {
	text := e.Reasons()
	if !e.Forced || errors.Is(e, errNoProbes) {
		text += "; tracepoints (ringtap tpoint -l) and user functions (ringtap uprobe) can be traced"
	}
	return text
}

// Reasons says why no way does, without what would.
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

// Unwrap returns why each way failed.
func (e *MethodError) Unwrap() []error {
	errs := make([]error, len(e.Refusals))
	for i, r := range e.Refusals {
		errs[i] = r.Err
	}
	return errs
}
