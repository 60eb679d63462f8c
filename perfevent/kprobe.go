package perfevent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Kprobe returns the event of a kernel probe: each time that the kernel comes to
// the instruction offset bytes behind the function's first, or with isReturn each
// time that the function returns. A module's function is MODULE:NAME; with ""
// the offset is the instruction's address.
//
// The probe is of the kernel's kprobe PMU: it is gone when the last of its
// events is closed, however that came about. Each open event of it is a probe of
// its own that costs time at each hit, which many events of one tracefs kprobe do
// not; and how many hits the kernel missed nobody can ask. Raw samples hold the
// tracepoint's common fields and then the address of the probe, for a return the
// address of the function and of where it returns to.
//
// It is never inherited. For each thread or child that inherits the event, the
// kernel reads the function's name again from the address that it was given by
// us, but in the memory of the program that forks, whose clone(2) then fails
// (perf_kprobe_init in kernel/trace/trace_event_perf.c). On a Process or a
// Started command the whole system is watched, and what others do is left out
// (Account.Filtered); Counters, which can't do that, refuse it with
// ErrNotInherited.
//
// Nothing is opened here. The error is ErrNoEvent on kernels that have no such
// PMU (before Linux 4.17, or without CONFIG_KPROBE_EVENTS).
func Kprobe(function string, offset uint64, isReturn bool) (Event, error) {
	return kprobe(os.DirFS("/sys/bus/event_source/devices"), function, offset, isReturn)
}

func kprobe(devices fs.FS, function string, offset uint64, isReturn bool) (Event, error) {
	if strings.ContainsRune(function, 0) {
		return Event{}, fmt.Errorf("probe of function %q: not a name", function)
	}
	label := "kprobe"
	var terms []string
	if isReturn {
		label = "kretprobe"
		terms = append(terms, "retprobe")
	}
	e, err := dynamic(devices, "kprobe", terms)
	if err != nil {
		return Event{}, err
	}
	switch {
	case function == "":
		e.attr.Label = fmt.Sprintf("%s:%#x", label, offset)
	case offset == 0:
		e.attr.Label = label + ":" + function
	default:
		e.attr.Label = fmt.Sprintf("%s:%s+%#x", label, function, offset)
	}
	e.attr.Config2 = offset
	e.kind, e.text = kprobeEvent, function
	return e, nil
}

// explainKprobe says why a probe could not be placed. It reports whether the
// error is about the place.
func (e *OpenError) explainKprobe(event Event) bool {
	switch {
	case errors.Is(e.Err, unix.ENOENT):
		e.Hint = "the kernel has no such function"
	case errors.Is(e.Err, unix.EILSEQ), errors.Is(e.Err, unix.EADDRNOTAVAIL):
		e.Hint = "no instruction begins there"
	case errors.Is(e.Err, unix.E2BIG), errors.Is(e.Err, unix.ENAMETOOLONG):
		e.Hint = "no function of the kernel has so long a name"
	case errors.Is(e.Err, unix.EINVAL):
		// From Linux 6.12 on that is also the answer to an unknown name.
		e.Hint = "the kernel has no such function, forbids probes in it (its blacklist), " +
			"or has no place for one there: a return probe must be at a function's first instruction"
	case errors.Is(e.Err, unix.EOPNOTSUPP), errors.Is(e.Err, enotsupp):
		e.Hint = "the kernel cannot probe this instruction"
	default:
		return false
	}
	e.Kind = ErrNotProbeable
	return true
}

// onlySystem returns the first sampling whose event can't be opened on the
// target's threads, so that the whole system must be watched, or nil: kprobes and
// function entries must not be inherited, and some machines have no breakpoints
// in the kernel for a thread. User probes are refused instead: they have events
// of tracefs beside them wherever there are any.
func (s *Session) onlySystem() *Sampling {
	for i := range s.samplings {
		event := &s.samplings[i].Event
		switch {
		case s.target.kind == processTarget && (event.kind == kprobeEvent || event.kind == functionEvent),
			!threadBreakpoints && (s.target.kind == processTarget || s.target.kind == threadTarget) && event.isKernelBreakpoint():
			return &s.samplings[i]
		}
	}
	return nil
}
