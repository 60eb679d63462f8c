package perfevent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// Uprobe returns the event of a user probe. A hit is any program reaching the instruction at
// offset (in bytes) of the file at path. If isReturn is true, a hit is a return of the function
// that starts there. refCtr is the file offset of a semaphore that the kernel increments while
// the event is open, as SystemTap's probes have it. 0 means none.
//
// The probe belongs to the kernel's uprobe PMU. The kernel removes it when the last of its
// events is closed, even if this process crashes. Each open event adds its own cost to each
// hit; more events of one tracefs uprobe do not. Raw samples hold the tracepoint's common
// fields, then the address of the probe. For a return, they hold the address of the function
// and the return address.
//
// It cannot be opened on a Process or a Started command (ErrNotInherited): for each thread or
// child that inherits the event, the kernel reads the path again. It uses the address that we
// passed, but in the memory of the program that forks, so its clone(2) fails (perf_uprobe_init
// in kernel/trace/trace_event_perf.c). Use a tracefs uprobe there.
//
// Uprobe opens nothing. The error is ErrNoEvent if the kernel has no such PMU (before Linux
// 4.17).
func Uprobe(path string, offset, refCtr uint64, isReturn bool) (Event, error) {
	return uprobe(os.DirFS("/sys/bus/event_source/devices"), path, offset, refCtr, isReturn)
}

func uprobe(devices fs.FS, path string, offset, refCtr uint64, isReturn bool) (Event, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return Event{}, fmt.Errorf("probe in file %q: not a path", path)
	}
	label := "uprobe"
	var terms []string
	if isReturn {
		label = "uretprobe"
		terms = append(terms, "retprobe")
	}
	if refCtr != 0 {
		terms = append(terms, fmt.Sprintf("ref_ctr_offset=%#x", refCtr))
	}
	e, err := dynamic(devices, "uprobe", terms)
	if err != nil {
		return Event{}, err
	}
	e.attr.Label = fmt.Sprintf("%s:%s:%#x", label, path, offset)
	e.attr.Config2 = offset
	e.kind, e.text = uprobeEvent, path
	return e, nil
}

// refuseInherited returns an error if a Uprobe would break the target: see Uprobe.
func (s *Session) refuseInherited() error {
	if s.target.kind != processTarget {
		return nil
	}
	for i := range s.samplings {
		if event := s.samplings[i].Event; event.kind == uprobeEvent {
			return &OpenError{Event: event.String(), Target: s.target.String(), Kind: ErrNotInherited, Err: ErrNotInherited,
				Hint: "the program could start no threads or children any more; a tracefs uprobe can do it"}
		}
	}
	return nil
}

// enotsupp is the kernel's internal ENOTSUPP, which has no name in user space
// (include/linux/errno.h).
const enotsupp = unix.Errno(524)

// explainUprobe is explainProbe for a Uprobe.
func (e *OpenError) explainUprobe(event Event) bool {
	info, err := os.Stat(event.text)
	switch {
	case errors.Is(e.Err, unix.ENOENT), errors.Is(e.Err, unix.ENOTDIR):
		e.Hint = "there is no such file"
	case errors.Is(e.Err, enotsupp), errors.Is(e.Err, unix.EOPNOTSUPP):
		e.Err = fmt.Errorf("%w: the kernel cannot probe this instruction", e.Err)
		e.Hint = "it can neither step over nor emulate it; another instruction of the function may do"
	case errors.Is(e.Err, unix.EILSEQ), errors.Is(e.Err, unix.ENOEXEC):
		e.Hint = "there is no instruction that can be probed at the offset; is it the first byte of one?"
	case errors.Is(e.Err, unix.EIO):
		e.Hint = "the file cannot be read into memory"
	case !errors.Is(e.Err, unix.EINVAL):
		return false
	case err == nil && !info.Mode().IsRegular():
		e.Hint = "only regular files can be probed"
	case err == nil && event.attr.Config2 >= uint64(info.Size()):
		e.Hint = fmt.Sprintf("the file has %d bytes only", info.Size())
	default:
		e.Hint = "the kernel can probe instructions in code that is mapped executable, on arm64 none that a trap would break, where " +
			"another instruction of the function may do; a semaphore must lie at an even offset, and be the same for all probes of one place"
	}
	e.Kind = ErrNotProbeable
	return true
}

// Kprobe returns the event of a kernel probe. A hit is the kernel reaching the instruction at
// offset (in bytes) of the function. If isReturn is true, a hit is a return of the function. A
// module's function is MODULE:NAME. If function is "", offset is the instruction's address.
//
// The probe belongs to the kernel's kprobe PMU. The kernel removes it when the last of its
// events is closed, even if this process crashes. Each open event is a probe that adds its own
// cost to each hit; more events of one tracefs kprobe do not. The kernel does not tell how many
// hits it missed. Raw samples hold the tracepoint's common fields, then the address of the
// probe. For a return, they hold the address of the function and the return address.
//
// It is never inherited. For each thread or child that inherits the event, the kernel would
// read the function's name again. It uses the address that we passed, but in the memory of the
// program that forks, so its clone(2) would fail (perf_kprobe_init in
// kernel/trace/trace_event_perf.c). On a Process or a Started command, the session watches the
// whole system and drops the hits of other processes (Account.Filtered). Counters can't drop
// hits, so they return ErrNotInherited.
//
// Kprobe opens nothing. The error is ErrNoEvent if the kernel has no such PMU (before Linux
// 4.17, or without CONFIG_KPROBE_EVENTS).
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

// explainKprobe is explainProbe for a Kprobe.
func (e *OpenError) explainKprobe(event Event) bool {
	switch {
	case errors.Is(e.Err, unix.ENOENT):
		e.Hint = "the kernel has no such function"
	case errors.Is(e.Err, unix.EILSEQ), errors.Is(e.Err, unix.EADDRNOTAVAIL):
		e.Hint = "no instruction begins there"
	case errors.Is(e.Err, unix.E2BIG), errors.Is(e.Err, unix.ENAMETOOLONG):
		e.Hint = "no function of the kernel has so long a name"
	case errors.Is(e.Err, unix.EINVAL):
		// Since Linux 6.12, an unknown name gives EINVAL too.
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

// onlySystem returns the first sampling whose event can't be opened on the target's threads, so
// that the whole system must be watched, or nil. Kprobes and function entries must not be
// inherited, and on some machines a thread can't have breakpoints in the kernel.
// refuseInherited refuses user probes instead: a tracefs uprobe can always replace them.
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

// FunctionEntry returns the event of ftrace's function tracer, ftrace:function. A hit is the
// entry of a kernel function. id is the number in events/ftrace/function/id of tracefs.
// Sampling.Filter selects the functions, for example
//
//	ip == vfs_read || ip == vfs_w*,do_sys_*
//
// A pattern is an ftrace glob, or a number: the line of a function in the file
// available_filter_functions, counted from 1. At most 255 characters may follow one ==, and
// the filter may have 4095 in all. Some kernels do not accept quotes. A filter is required:
// without one, the kernel would trace all of its functions.
//
// Any number of functions cost one event. But for each CPU or thread that is watched, the
// kernel patches all of its functions when it opens the event, and undoes the unwanted ones
// when the filter is set (perf_ftrace_function_register in kernel/trace/trace_event_perf.c).
// So a session sets the filter of each event before it opens the next one. If all events were
// opened first, every kernel function would check them all; an emulated machine stood still
// for a minute.
//
// Samples always have Raw data: the tracepoint's common fields, the address in the function and
// the address in its caller. Sample.IP is the address in the function, and the callchain starts
// there. Kernel callchains are possible, user stacks are not (perf_trace_event_perm in
// kernel/trace/trace_event_perf.c says why).
//
// It is never inherited: a new thread would inherit the event without the filter, and trace
// every kernel function. On a Process or a Started command, the session watches the whole
// system, as for a Kprobe.
func FunctionEntry(id uint64) Event {
	e := event(&perf.Attr{Type: perf.TracepointEvent, Config: id}, "ftrace:function")
	e.kind = functionEvent
	return e
}

// validateFunction rejects settings of a FunctionEntry that the kernel would refuse with a bare
// EINVAL, or that would trace all kernel functions.
func (s *Sampling) validateFunction() error {
	switch {
	case s.Callchain.User || s.UserStack > 0:
		return fmt.Errorf("sample %s: the kernel gives no user stacks with it: %w", s.Event, ErrInvalid)
	case s.Filter == "":
		return fmt.Errorf("sample %s: without a filter it would trace every function of the kernel: %w", s.Event, ErrInvalid)
	}
	return nil
}

// MaxBreakpoints is how many execution breakpoints each CPU of most machines has: x86 has four
// breakpoints of all kinds, arm64 at least two and mostly six.
const MaxBreakpoints = 4

// isKernelBreakpoint reports whether the event is a breakpoint in the kernel's
// memory, which is the upper half of the address space.
func (e Event) isKernelBreakpoint() bool {
	return e.attr.Type == perf.BreakpointEvent && int64(e.attr.Config1) < 0
}

// explainBreakpoint is explainProbe for a breakpoint in the kernel.
func (e *OpenError) explainBreakpoint() bool {
	if !errors.Is(e.Err, unix.EINVAL) {
		return false
	}
	// arch_build_bp_info in arch/x86/kernel/hw_breakpoint.c checks the blacklist of
	// kprobes. A kernel without kprobes refuses all addresses.
	e.Kind = ErrNotProbeable
	e.Hint = "the kernel takes no breakpoint there: the function is on the blacklist of kprobes, or, on x86, the kernel was built without CONFIG_KPROBES"
	return true
}
