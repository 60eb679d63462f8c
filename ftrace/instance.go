package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Instance is a trace instance that belongs to this process: it has its own trace buffer,
// tracer, events, filters and triggers (Documentation/trace/ftrace.rst, "Instances"). Its
// methods may be called by several goroutines.
//
// Its name identifies the owner, like that of a Group. If the process dies without closing it,
// the next NewInstance, NewGroup or RemoveStale of any process removes it, and everything
// enabled in it.
type Instance struct {
	fs    *FS // the instance's own directory
	owner *owner

	mu     sync.Mutex
	closed bool
}

// NewInstance makes an empty trace instance. It takes the kernel tens of milliseconds and a
// ring buffer for each CPU. It calls RemoveStale first and ignores its errors. The caller must
// close the instance. The error wraps fs.ErrNotExist if the kernel has no instances, and
// fs.ErrPermission if the caller may not make one.
func (t *FS) NewInstance() (*Instance, error) {
	t.RemoveStale(0) // a leftover that cannot be removed does not matter
	owner, err := t.own()
	if err != nil {
		return nil, fmt.Errorf("make a trace instance: %w", err)
	}
	dir := filepath.Join(t.dir, "instances", owner.name)
	if err := unix.Mkdir(dir, 0o700); err != nil {
		owner.release()
		return nil, fmt.Errorf("make a trace instance: %w", &os.PathError{Op: "mkdir", Path: dir, Err: err})
	}
	i := &Instance{fs: At(dir), owner: owner}
	if err := i.setClock(t); err != nil {
		return nil, errors.Join(fmt.Errorf("make a trace instance: %w", err), i.Close())
	}
	return i, nil
}

// setClock gives the instance the clock of the top-level tracefs. The kernel has chosen that
// clock so that times of different CPUs can be compared. A new instance uses the CPUs' local
// clocks even if these cannot be compared. Clocks that do not count nanoseconds are not copied.
func (i *Instance) setClock(top *FS) error {
	text, err := top.read("trace_clock")
	if err != nil {
		return err
	}
	_, clock, _ := strings.Cut(text, "[")
	clock, _, _ = strings.Cut(clock, "]")
	switch clock {
	case "global", "perf", "mono", "mono_raw", "boot", "tai":
		return i.Write("trace_clock", clock)
	}
	return nil
}

// Name returns the instance's name in the directory instances.
func (i *Instance) Name() string { return i.owner.name }

// FS returns the instance's directory. It has most files of tracefs: events with their filters,
// triggers and histograms, trace_pipe, per_cpu. It lacks files that are global in the kernel,
// for instance uprobe_events, kprobe_events and synthetic_events.
func (i *Instance) FS() *FS { return i.fs }

// Write replaces the content of the named file, like "echo value > name":
// Write("events/sched/enable", "1"). The error is the kernel's, with the file and the value.
func (i *Instance) Write(name, value string) error {
	if name == "current_tracer" || name == "buffer_size_kb" {
		i.expandTop()
	}
	return i.fs.write(name, value, os.O_TRUNC)
}

// expandTop makes the kernel give the top-level trace buffer its full size, as the first use of
// any event does. Before Linux 6.7 the kernel has one global flag that this was done. Setting a
// tracer or a size in an instance sets the flag without doing it. Then the next user of the
// top-level buffer would get only 7 KiB.
func (i *Instance) expandTop() {
	top := At(filepath.Dir(filepath.Dir(i.fs.dir)))
	if size, err := top.read("buffer_size_kb"); err == nil && strings.Contains(size, "expanded") {
		// Any write to an event's enable file expands the buffer; all of our events are off.
		i.fs.write("events/enable", "0", os.O_TRUNC)
	}
}

// Append appends value to the named file, like "echo value >> name". Use it for triggers and
// for lists such as set_ftrace_filter.
func (i *Instance) Append(name, value string) error { return i.fs.write(name, value, os.O_APPEND) }

// Read returns the text of the named file, without the newline at its end.
func (i *Instance) Read(name string) (string, error) { return i.fs.read(name) }

// Close removes the instance and everything in it. None of its files may be open. The kernel
// releases perf events and readers late, so Close waits for up to a second. If it fails, it can
// be called again.
func (i *Instance) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil
	}
	if err := removeInstance(i.fs.dir, closePatience); err != nil {
		return err
	}
	i.closed = true
	i.owner.release()
	return nil
}

// removeInstance removes the directory of a trace instance. The kernel turns off everything
// that is enabled in it.
func removeInstance(dir string, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := unix.Rmdir(dir)
		switch {
		// ENODEV: another program removed it between the lookup and the kernel's lock.
		case err == nil, errors.Is(err, fs.ErrNotExist), err == unix.ENODEV:
			return nil
		case err == unix.EBUSY && time.Now().Before(end):
			continue
		case err == unix.EBUSY:
			return fmt.Errorf("remove the trace instance %s: another program has files of it open: %w", filepath.Base(dir), err)
		}
		return &os.PathError{Op: "rmdir", Path: dir, Err: err}
	}
}

// write writes value to a file in one system call, as the kernel's command parsers require.
func (t *FS) write(name, value string, flags int) error {
	file, err := os.OpenFile(filepath.Join(t.dir, name), os.O_WRONLY|flags, 0)
	if err != nil {
		return err
	}
	if value != "" && !strings.HasSuffix(value, "\n") {
		// As echo(1) does. Without a newline, the kernel reads the last word only when the file
		// is closed, and then reports no error.
		value += "\n"
	}
	_, err = file.WriteString(value)
	if closeErr := file.Close(); err == nil {
		err = closeErr // set_ftrace_filter takes effect when it is closed
	}
	if err != nil {
		return fmt.Errorf("%q: %w", strings.TrimSuffix(value, "\n"), err)
	}
	return nil
}

// read returns the text of a file without the newline at its end.
func (t *FS) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(t.dir, name))
	return strings.TrimSuffix(string(text), "\n"), err
}
