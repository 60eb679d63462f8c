package functrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/host/proc"
)

// tracing is the directory in which a tracer runs: an instance, or tracefs itself.
type tracing struct {
	top      *ftrace.FS
	instance *ftrace.Instance // nil if the tracer runs in tracefs itself
	settings *ftrace.Settings // nil until a setting of tracefs itself is changed
	force    bool
}

// NoTracerError is returned if the kernel does not have a tracer, or refuses it.
type NoTracerError struct {
	Tracer string
	Err    error // the kernel's; nil if it has no such tracer
}

func (e *NoTracerError) Error() string {
	why := "the kernel has no " + e.Tracer + " tracer (CONFIG_" + strings.ToUpper(e.Tracer) + "_TRACER)"
	switch {
	case errors.Is(e.Err, unix.EPERM):
		why = "the kernel refuses the " + e.Tracer + " tracer to everyone (locked down, or this machine's policy)"
	case e.Err != nil:
		why = fmt.Sprintf("the kernel refuses the %s tracer (%v)", e.Tracer, e.Err)
	}
	return why + "; tracepoints (ringtap tpoint -l) and user functions (ringtap uprobe) can be traced without it"
}

func (e *NoTracerError) Unwrap() error { return e.Err }

// openTracing finds a directory for the tracer. The caller closes the result.
func openTracing(top *ftrace.FS, tracer string, force bool) (*tracing, error) {
	tracers, err := readFile(top, "available_tracers")
	if err != nil {
		return nil, fmt.Errorf("look for the %s tracer: %w", tracer, err)
	}
	if !slices.Contains(strings.Fields(tracers), tracer) {
		return nil, &NoTracerError{Tracer: tracer}
	}
	if on, err := proc.Live.Sysctl("kernel/ftrace_enabled"); err == nil && on == "0" {
		return nil, errors.New("function tracing is off on this host: sysctl kernel.ftrace_enabled=1 turns it on")
	}
	r := &tracing{top: top, force: force}
	instance, err := top.NewInstance()
	if err != nil {
		return nil, err
	}
	if tracers, err = instance.Read("available_tracers"); err == nil && slices.Contains(strings.Fields(tracers), tracer) {
		r.instance = instance
		return r, nil
	}
	if err := instance.Close(); err != nil {
		return nil, err
	}
	if err := r.openSettings(); err != nil {
		return nil, err
	}
	return r, nil
}

// openSettings claims settings of tracefs itself: all of them, or the named ones. It fails if
// someone else uses them.
func (r *tracing) openSettings(names ...string) error {
	if r.settings != nil {
		return nil
	}
	settings, err := r.top.OpenSettings()
	if err != nil {
		return err
	}
	if err := settings.Uses(names...); err != nil && !(r.force && isBusy(err)) {
		return errors.Join(err, settings.Close())
	}
	r.settings = settings
	return nil
}

func isBusy(err error) bool {
	var busy *ftrace.BusyError
	return errors.As(err, &busy)
}

// fs returns the directory of the tracer's files.
func (r *tracing) fs() *ftrace.FS {
	if r.instance != nil {
		return r.instance.FS()
	}
	return r.top
}

// set writes a file of the directory.
func (r *tracing) set(name, value string) error {
	if r.instance != nil {
		return r.instance.Write(name, value)
	}
	return r.settings.Set(name, value)
}

// add appends to a list of the directory.
func (r *tracing) add(name, value string) error {
	if r.instance != nil {
		return r.instance.Append(name, value+"\n")
	}
	return r.settings.Add(name, value)
}

// readFile returns the text of a file of tracefs.
func readFile(fs *ftrace.FS, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(fs.Dir(), name))
	return strings.TrimSuffix(string(text), "\n"), err
}

// global are the settings that apply to the whole kernel, whatever the directory.
var global = []string{"set_graph_function", "set_graph_notrace", "max_graph_depth", "tracing_thresh"}

// setGlobal writes a setting of tracefs itself.
func (r *tracing) setGlobal(name, value string) error {
	if err := r.openSettings(global...); err != nil {
		return err
	}
	return r.settings.Set(name, value)
}

// setOption sets an option of the tracer. Some kernels have one such option for all directories.
func (r *tracing) setOption(name, value string) error {
	if r.instance == nil || r.top.Has("options/"+name) && !r.instance.FS().Has("options/"+name) {
		return r.setGlobal("options/"+name, value)
	}
	// Some kernels change the option for all directories. setGlobal restores it at the end.
	if before, err := readFile(r.top, "options/"+name); err == nil && before != value {
		if err := r.setGlobal("options/"+name, value); err != nil {
			return err
		}
	}
	return r.instance.Write("options/"+name, value)
}

// start sets the tracer. It must be the last setting.
func (r *tracing) start(tracer string) error {
	err := r.set("current_tracer", tracer)
	switch {
	case errors.Is(err, unix.EBUSY):
		return errors.New("cannot change the tracer: another program reads tracefs's trace_pipe and would take the records")
	case err != nil:
		return &NoTracerError{Tracer: tracer, Err: rootCause(err)}
	}
	return nil
}

// startWith sets the tracer while an option has a value. The kernel has one such option for all
// directories and looks at it only when a tracer starts. So the value is restored right after that,
// and other tracers are not affected.
func (r *tracing) startWith(option, value, tracer string) error {
	option = "options/" + option
	if is, err := readFile(r.fs(), option); err != nil || is == value {
		return r.start(tracer)
	}
	if r.instance == nil {
		if err := r.set(option, value); err != nil {
			return err
		}
		return r.start(tracer)
	}
	settings, err := r.top.OpenSettings()
	for end := time.Now().Add(patience); isBusy(err) && time.Now().Before(end); {
		time.Sleep(again) // another ringtap is doing the same
		settings, err = r.top.OpenSettings()
	}
	if err != nil {
		return err
	}
	err = settings.Note(option)
	if err == nil {
		err = r.instance.Write(option, value)
	}
	if err == nil {
		err = r.start(tracer)
	}
	if closeErr := settings.Close(); err == nil {
		err = closeErr
	}
	return err
}

// patience is how long another ringtap may take to start. again is the time between attempts.
const (
	patience = 5 * time.Second
	again    = 50 * time.Millisecond
)

// rootCause returns the errno of an error, for messages without a path.
func rootCause(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// close restores everything.
func (r *tracing) close() error {
	var errs []error
	if r.instance != nil {
		errs = append(errs, r.instance.Close())
	}
	if r.settings != nil {
		errs = append(errs, r.settings.Close())
	}
	return errors.Join(errs...)
}
