package ftrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNotMounted says that no tracefs is mounted at any place that the kernel
// documents.
var ErrNotMounted = errors.New("tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing")

// mountPoint is where tracefs belongs since Linux 4.1.
const mountPoint = "/sys/kernel/tracing"

// places are the directories that may hold tracefs, best first.
var places = [...]string{mountPoint, "/sys/kernel/debug/tracing"}

// FS is a mounted tracefs.
type FS struct {
	dir string
}

// Find returns the mounted tracefs. The error wraps ErrNotMounted where there
// is none, and fs.ErrPermission where the caller may not look into it: by
// default root alone may.
func Find() (*FS, error) {
	for _, dir := range places {
		if err := isTracing(dir); err == nil {
			return &FS{dir: dir}, nil
		} else if errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("look into %s: %w (only root may read it as it is mounted)", dir, errors.Unwrap(err))
		}
	}
	return nil, ErrNotMounted
}

// At returns the tracefs that is mounted at dir, and does not look whether one
// is: the methods will say.
func At(dir string) *FS { return &FS{dir: dir} }

// isTracing tells whether dir holds tracefs, by the file that every tracefs
// has. The magic number alone does not do: below debugfs the automounted
// directory has tracefs's number, on kernels before 4.1 debugfs's.
func isTracing(dir string) error {
	_, err := os.Stat(filepath.Join(dir, "trace"))
	return err
}

// Mount returns the mounted tracefs and mounts it at /sys/kernel/tracing if it
// is mounted nowhere, which takes CAP_SYS_ADMIN. Mounted says whether it had to:
// a caller that wants to leave nothing behind unmounts it. The error is Find's,
// or wraps the one of mount(2).
func Mount() (tracefs *FS, mounted bool, err error) {
	tracefs, err = Find()
	if !errors.Is(err, ErrNotMounted) {
		return tracefs, false, err
	}
	if err := unix.Mount("tracefs", mountPoint, "tracefs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return nil, false, fmt.Errorf("mount tracefs at %s: %w", mountPoint, err)
	}
	return &FS{dir: mountPoint}, true, nil
}

// Dir is the directory where tracefs is mounted.
func (t *FS) Dir() string { return t.dir }

// Has tells whether the running kernel's tracefs has the named file, for
// instance "uprobe_events".
func (t *FS) Has(name string) bool {
	_, err := os.Stat(filepath.Join(t.dir, name))
	return err == nil
}

// EventID returns the number by which perf_event_open(2) knows the tracepoint
// system:name (attr.config of PERF_TYPE_TRACEPOINT). It is good until the next
// boot, that of a module's event as long as the module is loaded. The error
// wraps fs.ErrNotExist if the kernel has no such event, and fs.ErrPermission if
// the caller may not know.
func (t *FS) EventID(system, name string) (uint64, error) {
	if !isName(system) || !isName(name) {
		return 0, fmt.Errorf("tracepoint %q:%q: %w", system, name, os.ErrNotExist)
	}
	text, err := os.ReadFile(filepath.Join(t.dir, "events", system, name, "id"))
	if err != nil {
		return 0, fmt.Errorf("tracepoint %s:%s: %w", system, name, err)
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("tracepoint %s:%s: read its id: %w", system, name, err)
	}
	return id, nil
}

// isName tells whether s can name an event or a system: one path element of
// the letters that the kernel accepts (kernel/trace/trace_probe.h,
// is_good_name, and the hyphen that some static systems use).
func isName(s string) bool {
	for _, r := range s {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != ""
}
