package perfevent

import (
	"encoding/binary"
	"fmt"

	perf "github.com/elastic/go-perf"
)

// FunctionEntry returns the event of ftrace's function tracer, ftrace:function: a
// hit is a function of the kernel being entered. The id is the number in tracefs,
// events/ftrace/function/id. Which functions, the Sampling's Filter says, for
// instance
//
//	ip == vfs_read || ip == vfs_w*,do_sys_*
//
// A pattern is one of ftrace's globs, or a number: the place of a function in
// the file available_filter_functions, counted from 1. No more than 255
// characters can be behind one ==, and 4095 in all; some kernels take no quotes.
// Without a filter every function of the kernel would be traced, so that one must
// be set.
//
// Any number of functions cost one event. To open it, though, the kernel patches
// all of its functions, and those that are not wanted back when the filter is set
// (perf_ftrace_function_register in kernel/trace/trace_event_perf.c): for each CPU
// or thread that is watched. Filters are set one by one for all that: were all
// events open before, every function of the kernel would look for takers among
// them, and an emulated machine stood still for a minute.
//
// Samples always have Raw data: the tracepoint's common fields, the address in
// the function and that in the caller. Sample.IP is the former, and the callchain
// begins there. User stacks can't be had (perf_trace_event_perm in
// kernel/trace/trace_event_perf.c says why), kernel ones can.
//
// It is never inherited: what inherits the event does not inherit the filter, and
// traces every function of the kernel. On a Process or a Started command the whole
// system is watched instead, as for a Kprobe.
func FunctionEntry(id uint64) Event {
	e := event(&perf.Attr{Type: perf.TracepointEvent, Config: id}, "ftrace:function")
	e.kind = functionEvent
	return e
}

// atFunction makes a sample that ftrace made look like one of the function: its
// IP is the address in the function, and the callchain begins there and not in
// ftrace's own functions. That is a copy: rings of recent samples can't be written.
func (l *layout) atFunction() {
	const ipAt = 8
	s := &l.sample
	if len(s.Raw) < ipAt+8 {
		return
	}
	s.IP = binary.LittleEndian.Uint64(s.Raw[ipAt:])
	for i, frame := range s.Callchain {
		// The frame is where ftrace returns to, behind its call.
		if i > 0 && frame-s.IP <= longestCall {
			l.chain = append(append(l.chain[:0], kernelMarker, s.IP), s.Callchain[i+1:]...)
			s.Callchain = l.chain
			return
		}
	}
}

const (
	// longestCall is how many bytes a call to ftrace has at most.
	longestCall = 8
	// kernelMarker is PERF_CONTEXT_KERNEL, which goes before the kernel's frames.
	kernelMarker = ^uint64(127)
)

// validateFunction rejects what the kernel would answer with a bare EINVAL, or
// with all of its functions.
func (s *Sampling) validateFunction() error {
	switch {
	case s.Callchain.User || s.UserStack > 0:
		return fmt.Errorf("sample %s: the kernel gives no user stacks with it: %w", s.Event, ErrInvalid)
	case s.Filter == "":
		return fmt.Errorf("sample %s: without a filter it would trace every function of the kernel: %w", s.Event, ErrInvalid)
	}
	return nil
}
