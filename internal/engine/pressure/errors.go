package pressure

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Kinds of Error, for errors.Is.
var (
	// ErrOff is returned when the kernel does not measure pressure.
	ErrOff = errors.New("no pressure stall information")
	// ErrWindow is returned when the window needs CAP_SYS_RESOURCE and the caller lacks it.
	ErrWindow = errors.New("the window is refused")
	// ErrPermission is returned when the caller may not set a trigger there.
	ErrPermission = errors.New("not permitted")
	// ErrNoPlace is returned when the control group does not exist, or has no such file.
	ErrNoPlace = errors.New("no pressure file")
	// ErrGone is returned when the control group of an armed trigger was removed. It wraps io.EOF,
	// because no more alarms can come.
	ErrGone = fmt.Errorf("the control group is gone: %w", io.EOF)
)

// Error says why a trigger could not be armed, or is not armed any more. It unwraps to Kind and to
// the kernel's error number.
type Error struct {
	Trigger Trigger
	Path    string // of the pressure file; "" if it was never opened
	Kind    error  // one of this package's Err values; nil if none fits
	Err     error  // the kernel's error
	Hint    string // what the user can do; may be empty
}

// Error returns one line: what failed, on what, why, and what to do.
func (e *Error) Error() string {
	text := fmt.Sprintf("trigger %q", e.Trigger)
	if e.Path != "" {
		text += " on " + e.Path
	}
	text += fmt.Sprintf(": %v", e.Err)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap makes errors.Is find both the kind and the kernel's error.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

const (
	// cpuFull: since Linux 5.13 the kernel accepts such a trigger, but never raises an alarm.
	cpuFull = "cpu full means nothing for the whole system, where something always runs: use cpu some, or watch a control group with -g"

	off = "this kernel keeps no account of pressure: it needs CONFIG_PSI, and psi=1 on the boot command line where CONFIG_PSI_DEFAULT_DISABLED is set"
)

// explainOpen explains why a pressure file could not be opened.
func explainOpen(t Trigger, path string, err error) *Error {
	e := &Error{Trigger: t, Path: path, Err: err}
	dir := filepath.Dir(path)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		e.Kind, e.Hint = ErrOff, off
	case errors.Is(err, unix.ENOENT) && dir == system:
		e.Kind, e.Hint = ErrOff, off
		if _, err := os.Stat(system); err == nil {
			e.Kind, e.Hint = ErrNoPlace, fmt.Sprintf("this kernel has no pressure information for %s, only for %s", t.Resource, strings.Join(filesIn(dir), ", "))
		}
	case errors.Is(err, unix.ENOENT):
		e.Kind, e.Hint = ErrNoPlace, explainPlace(t, dir)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Kind, e.Hint = ErrPermission, "a trigger needs the right to write to the file, before Linux 6.5 CAP_SYS_RESOURCE as well; without them: sudo"
	}
	return e
}

// explainPlace says why dir has no pressure file for the trigger.
func explainPlace(t Trigger, dir string) string {
	const elsewhere = "; -T " + "'%s@/proc/pressure %s' watches the whole system's"
	system := fmt.Sprintf(elsewhere, t.Resource, t.written())
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return "there is no such directory"
	}
	if fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return "only cgroup v2 control groups have their own pressure, and this is not one" + system
	}
	switch text, err := os.ReadFile(filepath.Join(dir, "cgroup.pressure")); {
	case err == nil && strings.TrimSpace(string(text)) == "0":
		return "pressure accounting of the group is off: write 1 to its cgroup.pressure"
	case len(filesIn(dir)) == 0:
		return off + system
	}
	return fmt.Sprintf("this kernel has no pressure information for %s of a control group, only for %s", t.Resource, strings.Join(filesIn(dir), ", "))
}

// filesIn lists the resources that have a pressure file in dir.
func filesIn(dir string) (found []string) {
	for _, resource := range Resources() {
		if _, err := os.Stat(Trigger{Resource: resource, Place: dir}.file()); err == nil {
			found = append(found, resource)
		}
	}
	return found
}

// explainWrite explains why the kernel refused a trigger that passed validate.
func explainWrite(t Trigger, path string, err error) *Error {
	e := &Error{Trigger: t, Path: path, Err: err}
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		e.Kind, e.Hint = ErrOff, off
	case errors.Is(err, unix.EINVAL) && t.Window%OrdinaryWindow != 0:
		like := t.ordinary()
		e.Kind = ErrWindow
		e.Hint = fmt.Sprintf("without CAP_SYS_RESOURCE the window must be 2, 4, 6, 8 or 10 s: %q is the same proportion", like)
	case errors.Is(err, unix.EINVAL) && t.Resource == "cpu" && t.Full:
		e.Hint = "this kernel does not tell cpu full: use cpu some"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Kind, e.Hint = ErrPermission, "a trigger needs CAP_SYS_RESOURCE before Linux 6.5"
	case errors.Is(err, unix.EBUSY):
		e.Hint = "the file has a trigger already"
	}
	return e
}

// ordinary returns a trigger with about the same share of stalled time that needs no privileges.
func (t Trigger) ordinary() Trigger {
	share := float64(t.Threshold) / float64(t.Window)
	t.Window = max(OrdinaryWindow, t.Window.Round(OrdinaryWindow))
	t.Threshold = time.Duration(share * float64(t.Window)).Round(time.Microsecond)
	return t
}
