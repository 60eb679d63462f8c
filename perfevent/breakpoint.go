package perfevent

import (
	"errors"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// MaxBreakpoints is how many execution breakpoints there are to be had on each
// CPU of most machines: x86 has four for all purposes, arm64 at least two, mostly
// six.
const MaxBreakpoints = 4

// isKernelBreakpoint tells whether the event is a breakpoint in the kernel's
// memory, which is the upper half of the address space.
func (e Event) isKernelBreakpoint() bool {
	return e.attr.Type == perf.BreakpointEvent && int64(e.attr.Config1) < 0
}

// explainBreakpoint says why a breakpoint in the kernel could not be set. It
// reports whether the error is about that.
func (e *OpenError) explainBreakpoint() bool {
	if !errors.Is(e.Err, unix.EINVAL) {
		return false
	}
	// arch_build_bp_info in arch/x86/kernel/hw_breakpoint.c asks the blacklist of
	// kprobes, and where there are no kprobes takes none.
	e.Kind = ErrNotProbeable
	e.Hint = "the kernel takes no breakpoint there: the function is on the blacklist of kprobes, or, on x86, the kernel was built without CONFIG_KPROBES"
	return true
}
