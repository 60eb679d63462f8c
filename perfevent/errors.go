package perfevent

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Kinds of OpenError, for errors.Is.
var (
	// ErrNoEvent: this machine or kernel does not have the event. A CPU
	// profile falls back from CPUCycles to CPUClock.
	ErrNoEvent = errors.New("no such event here")
	// ErrKernelExcluded: the caller may open the event only with ExcludeKernel.
	ErrKernelExcluded = errors.New("the kernel must be excluded")
	// ErrPermission: the caller may not watch this target.
	ErrPermission = errors.New("not permitted")
	// ErrNoTarget: the process, thread or cgroup does not exist, or has ended.
	ErrNoTarget = errors.New("no such target")
	// ErrTooManyFiles: the session needs more file descriptors than the limit allows.
	ErrTooManyFiles = errors.New("too many file descriptors")
	// ErrRingMemory: the kernel does not lock enough memory for the rings.
	ErrRingMemory = errors.New("no memory for the ring")
	// ErrFilter: the kernel refuses a sampling's filter. ExplainFilter of package ftrace
	// finds the part that is wrong.
	ErrFilter = errors.New("filter refused")
	// ErrNotProbeable: there is no place for a Uprobe, a Kprobe or an execution
	// Breakpoint: no such file or function, no such offset in it, or an
	// instruction there that cannot be replaced.
	ErrNotProbeable = errors.New("cannot be probed")
	// ErrNotInherited: new threads and children cannot inherit the event. It can watch
	// only threads, control groups and the whole system.
	ErrNotInherited = errors.New("event cannot be inherited")
	// ErrInvalid: the kernel refuses the event's configuration.
	ErrInvalid = errors.New("configuration refused")
)

// OpenError says why an event could not be opened. It unwraps to Kind and to
// the kernel's error number.
type OpenError struct {
	Event  string // perf's name of the event; "" when the target itself failed
	Target string // what was to be watched, as Target.String names it
	Kind   error  // one of the Err values of this package
	Err    error  // the kernel's error, usually a unix.Errno
	Hint   string // what to do about it; may be empty
}

// Error returns one line: what failed, on what, why, and what to do.
func (e *OpenError) Error() string {
	var b strings.Builder
	if e.Event != "" {
		fmt.Fprintf(&b, "open event %s on %s: %v", e.Event, e.Target, e.Err)
	} else {
		fmt.Fprintf(&b, "watch %s: %v", e.Target, e.Err)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// Unwrap makes errors.Is find both the kind and the kernel's error.
func (e *OpenError) Unwrap() []error { return []error{e.Kind, e.Err} }

// openError explains an error of perf_event_open(2).
func (s *Session) openError(name string, sampling *Sampling, err error) *OpenError {
	e := &OpenError{Event: name, Target: s.target.String(), Kind: ErrInvalid, Err: err}
	if sampling != nil && e.explainProbe(sampling.Event) {
		return e
	}
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Kind = ErrPermission
		e.Hint = s.permissionHint(sampling)
		if sampling != nil && sampling.Event.attr.Type == unix.PERF_TYPE_TRACEPOINT && (capable(unix.CAP_PERFMON) || capable(unix.CAP_SYS_ADMIN)) {
			e.Hint = "the kernel lets nobody sample this tracepoint, which may be hit because of a sample; funccount counts it"
		}
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENXIO):
		if s.target.kind == cgroupTarget && sampling != nil && !isHardware(sampling) {
			e.Kind = ErrNoTarget
			e.Hint = cgroupHint
			break
		}
		e.Kind = ErrNoEvent
		if sampling != nil && isHardware(sampling) {
			e.Hint = "this machine shows no hardware counters; cpu-clock works everywhere"
		} else {
			e.Hint = "this kernel or CPU does not have the event"
		}
	case errors.Is(err, unix.EBADF):
		e.Kind = ErrNoTarget
		e.Hint = cgroupHint
	case errors.Is(err, unix.ESRCH):
		e.Kind = ErrNoTarget
		e.Hint = "it does not exist, or has ended"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		e.Kind = ErrTooManyFiles
		e.Hint = "raise the limit with ulimit -n"
	case errors.Is(err, unix.EINTR):
		e.Hint = "the event is enabled in tracefs, and the kernel does not let perf have a dynamic event as well"
	case errors.Is(err, unix.EBUSY):
		e.Hint = "something else uses the counter or breakpoint exclusively"
	case errors.Is(err, unix.ENOSPC):
		e.Hint = "no free hardware breakpoint"
	case errors.Is(err, unix.EOVERFLOW):
		e.Hint = "MaxStack is above kernel.perf_event_max_stack, " + readSysctl("perf_event_max_stack")
	case errors.Is(err, unix.EINVAL):
		e.Hint = "this kernel does not know the event's configuration"
		if sampling != nil && sampling.Event.attr.Type == unix.PERF_TYPE_TRACEPOINT {
			e.Hint += fmt.Sprintf(", or has no tracepoint %d", sampling.Event.attr.Config)
		}
		if sampling != nil && sampling.Frequency > 0 {
			e.Hint += fmt.Sprintf("; a frequency must be at most kernel.perf_event_max_sample_rate, %s",
				readSysctl("perf_event_max_sample_rate"))
		}
	}
	return e
}

const cgroupHint = "the directory must lie on a cgroup v2 file system whose kernel has the perf_event controller, " +
	"or on the v1 hierarchy of perf_event"

func (s *Session) permissionHint(sampling *Sampling) string {
	paranoid := readSysctl("perf_event_paranoid")
	most := "0"
	if sampling != nil && sampling.Event.attr.Type == unix.PERF_TYPE_TRACEPOINT {
		most = "-1"
	}
	if level, err := strconv.Atoi(paranoid); err == nil && level < 0 {
		return fmt.Sprintf("kernel.perf_event_paranoid is %d, which allows it: a seccomp filter or a security module refuses perf_event_open(2)", level)
	}
	switch s.target.kind {
	case systemTarget, cgroupTarget:
		return fmt.Sprintf("kernel.perf_event_paranoid is %s; watching %s needs root, CAP_PERFMON, or at most %s", paranoid, s.target, most)
	}
	return fmt.Sprintf("kernel.perf_event_paranoid is %s; without root or CAP_PERFMON only own processes can be watched, "+
		"above 1 without the kernel, above 2 none", paranoid)
}

// readSysctl returns a value below /proc/sys/kernel for a message.
func readSysctl(name string) string {
	value, err := host.Sysctl("kernel/" + name)
	if err != nil {
		return "unknown"
	}
	return value
}

// explainProbe fills in e if the error is about the place of a probe, and reports whether it
// is.
func (e *OpenError) explainProbe(event Event) bool {
	switch event.kind {
	case uprobeEvent:
		return e.explainUprobe(event)
	case kprobeEvent:
		return e.explainKprobe(event)
	}
	return event.isKernelBreakpoint() && e.explainBreakpoint()
}

func isHardware(s *Sampling) bool {
	switch s.Event.attr.Type {
	case unix.PERF_TYPE_HARDWARE, unix.PERF_TYPE_HW_CACHE, unix.PERF_TYPE_RAW:
		return true
	}
	return false
}
