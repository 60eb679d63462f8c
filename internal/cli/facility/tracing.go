package facility

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// tracefs returns nil if tracefs has all these files.
func (h *host) tracefs(names ...string) error {
	if h.tracingErr != nil {
		return h.tracingErr
	}
	for _, name := range names {
		if !h.tracing.Has(name) {
			return errAbsent
		}
	}
	return nil
}

// syscallStrings returns nil if the kernel copies the strings of system calls into
// the records of their tracepoints. The format of openat's tracepoint then has a
// field with the text of the file name.
func (h *host) syscallStrings() error {
	if h.tracingErr != nil {
		return h.tracingErr
	}
	format, err := os.ReadFile(filepath.Join(h.tracing.Dir(), "events/syscalls/sys_enter_openat/format"))
	if err != nil {
		return absent(err)
	}
	if !bytes.Contains(format, []byte("__data_loc")) {
		return errAbsent
	}
	return nil
}

// eventProbes returns nil if the kernel has event probes. It requests one on an
// event that does not exist. A kernel with event probes answers ENODEV
// (kernel/trace/trace_eprobe.c), one without them EINVAL. The README of tracefs
// does not help: it describes event probes in both cases.
func (h *host) eventProbes() error {
	if err := h.tracefs("dynamic_events"); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(h.tracing.Dir(), "dynamic_events"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("e:ringtap_check/none ringtap_check.none\n")
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	return errAbsent
}

// functionEvent returns nil if the kernel has ftrace's event for function calls. It does
// not open the event: that would patch all functions of the kernel.
func (h *host) functionEvent() error {
	if err := h.tracefs("events/ftrace/function/id"); err != nil {
		return err
	}
	return h.tracer("function")
}

// tracer returns nil if ftrace has the tracer called name, and its functions may be
// chosen. Some machines refuse the latter to everyone.
func (h *host) tracer(name string) error {
	if h.tracingErr != nil {
		return h.tracingErr
	}
	text, err := os.ReadFile(filepath.Join(h.tracing.Dir(), "available_tracers"))
	if err != nil {
		return absent(err)
	}
	if !slices.Contains(strings.Fields(string(text)), name) {
		return errAbsent
	}
	f, err := os.Open(filepath.Join(h.tracing.Dir(), "available_filter_functions"))
	if err != nil {
		return refused(err)
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 1)); err != nil && err != io.EOF {
		return refused(err)
	}
	return nil
}

// privateGraph returns nil if a trace instance may have a graph tracer of its own.
func (h *host) privateGraph() error {
	if err := h.tracer("function_graph"); err != nil {
		return err
	}
	return h.since(6, 11)
}

// refused returns a short error that says why an existing file can't be used.
func refused(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return fmt.Errorf("refused: %w", errno)
	}
	return err
}

// addsPlaces returns nil if one dynamic event may have several places.
func (h *host) addsPlaces() error {
	if h.tracingErr != nil {
		return h.tracingErr
	}
	if !h.tracing.AddsPlaces() {
		return errAbsent
	}
	return nil
}

// inReadme returns nil if the README of tracefs contains text. The README
// describes the parts that the kernel was built with.
func (h *host) inReadme(text string) error {
	if h.tracingErr != nil {
		return h.tracingErr
	}
	readme, err := os.ReadFile(filepath.Join(h.tracing.Dir(), "README"))
	if err != nil {
		return absent(err)
	}
	if !bytes.Contains(readme, []byte(text)) {
		return errAbsent
	}
	return nil
}
