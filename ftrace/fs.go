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

// ErrNotMounted is returned if no tracefs is mounted at any of the documented places.
var ErrNotMounted = errors.New("tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing")

// mountPoint is the standard mount point of tracefs since Linux 4.1.
const mountPoint = "/sys/kernel/tracing"

// places are the possible mount points, in order of preference.
var places = [...]string{mountPoint, "/sys/kernel/debug/tracing"}

// FS is a mounted tracefs.
type FS struct {
	dir string
}

// Find returns the mounted tracefs. The error wraps ErrNotMounted if there is none, and
// fs.ErrPermission if the caller may not read it: by default only root may.
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

// At returns the tracefs mounted at dir. It does not check that there is one: methods will
// fail.
func At(dir string) *FS { return &FS{dir: dir} }

// isTracing checks that dir is a tracefs, by a file that every tracefs has. The file system's
// magic number is not enough: below debugfs it is tracefs's number for an automounted
// directory, but debugfs's on kernels before 4.1.
func isTracing(dir string) error {
	_, err := os.Stat(filepath.Join(dir, "trace"))
	return err
}

// Mount returns the mounted tracefs. If there is none, it mounts tracefs at
// /sys/kernel/tracing, which needs CAP_SYS_ADMIN, and sets mounted. A caller that wants to
// leave nothing behind must then unmount it. The error is Find's, or wraps the one of mount(2).
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

// Dir returns the directory where tracefs is mounted.
func (t *FS) Dir() string { return t.dir }

// Has reports whether the running kernel's tracefs has the named file, for instance
// "uprobe_events".
func (t *FS) Has(name string) bool {
	_, err := os.Stat(filepath.Join(t.dir, name))
	return err == nil
}

// EventID returns the number of the tracepoint system:name for perf_event_open(2) (attr.config
// of PERF_TYPE_TRACEPOINT). It is valid until the next boot, or until the event's module is
// unloaded. The error wraps fs.ErrNotExist if the kernel has no such event, and
// fs.ErrPermission if the caller may not read it.
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

// isName reports whether s can be the name of an event or a system: one path element of
// characters that the kernel accepts (kernel/trace/trace_probe.h, is_good_name). Some static
// systems also use a hyphen.
func isName(s string) bool {
	for _, r := range s {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != ""
}
