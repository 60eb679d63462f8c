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

// Instance is a trace instance of this process's own: a trace buffer, a tracer,
// events, filters and triggers that no one else has
// (Documentation/trace/ftrace.rst, "Instances"). Its methods may be called by
// several goroutines.
//
// Its name says who owns it, as a Group's does. If the process dies without
// closing it, the next NewInstance, NewGroup or RemoveStale of any process
// removes it, with all that was turned on in it.
type Instance struct {
	fs    *FS // the instance's own directory
	owner *owner

	mu     sync.Mutex
	closed bool
}

// NewInstance makes an empty trace instance. It costs the kernel tens of
// milliseconds and a ring buffer for each CPU. First it removes what RemoveStale
// removes; what can't be removed does not stop it. The caller must close the
// instance. The error wraps fs.ErrNotExist if the kernel has no instances, and
// fs.ErrPermission if the caller may not make one.
func (t *FS) NewInstance() (*Instance, error) {
	t.RemoveStale(0) // what it can't remove is no hindrance
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

// setClock gives the instance the clock of tracefs itself, which the kernel chose
// so that times of several CPUs can be compared: where their own clocks can't, a
// new instance would have those nevertheless. Clocks that count no nanoseconds
// are left alone.
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

// Name is the instance's name in the directory instances.
func (i *Instance) Name() string { return i.owner.name }

// FS is the instance's directory, which has the same files as tracefs itself
// where they make sense: events with their filters, triggers and histograms,
// trace_pipe, per_cpu. What is global in the kernel it lacks, for instance
// uprobe_events, kprobe_events, synthetic_events.
func (i *Instance) FS() *FS { return i.fs }

// Write puts value into the named file in the place of what it holds, as
// "echo value > name" does: Write("events/sched/enable", "1"). The error is that
// of the kernel, with the file and the value.
func (i *Instance) Write(name, value string) error {
	if name == "current_tracer" || name == "buffer_size_kb" {
		i.expandTop()
	}
	return i.fs.write(name, value, os.O_TRUNC)
}

// expandTop has the kernel give tracefs's own buffer its full size, as the first
// use of any event does. Before Linux 6.7 there is one note in the kernel that
// this was done, and a tracer or a new size in an instance sets the note without
// doing it: whoever came next would have to do with 7 KiB.
func (i *Instance) expandTop() {
	top := At(filepath.Dir(filepath.Dir(i.fs.dir)))
	if size, err := top.read("buffer_size_kb"); err == nil && strings.Contains(size, "expanded") {
		// Whatever is written to the switch of an event does it; all of ours
		// are off.
		i.fs.write("events/enable", "0", os.O_TRUNC)
	}
}

// Append adds value to what the named file holds, as "echo value >> name" does:
// to lists such as set_ftrace_filter, and triggers.
func (i *Instance) Append(name, value string) error { return i.fs.write(name, value, os.O_APPEND) }

// Read returns the text of the named file, without the newline at its end.
func (i *Instance) Read(name string) (string, error) { return i.fs.read(name) }

// Close removes the instance and everything in it. No file of it may be open
// any more; the kernel lets go of perf and of readers late, so Close waits for
// up to a second. If it fails, it can be called again.
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

// removeInstance removes the directory of a trace instance. The kernel turns
// off what is on in it.
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

// write writes value to a file in one system call, as the kernel's parsers of
// commands want it.
func (t *FS) write(name, value string, flags int) error {
	file, err := os.OpenFile(filepath.Join(t.dir, name), os.O_WRONLY|flags, 0)
	if err != nil {
		return err
	}
	if value != "" && !strings.HasSuffix(value, "\n") {
		// As echo(1) does. A last word without an end is read when the file is
		// closed, and what is wrong with it then remains unsaid.
		value += "\n"
	}
	_, err = file.WriteString(value)
	if closeErr := file.Close(); err == nil {
		err = closeErr // set_ftrace_filter is put into force by its close
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
