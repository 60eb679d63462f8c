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

// tracefs looks for files that the kernel has with a facility of tracing.
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

// syscallStrings looks whether the kernel copies the strings of system calls
// into their tracepoints: the format of openat's then has a field with the
// file name's text.
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

// eventProbes asks for one on an event that does not exist: a kernel that has
// event probes says so (ENODEV, kernel/trace/trace_eprobe.c), one without them
// does not understand the question (EINVAL). The README of tracefs describes
// them either way.
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

// functionEvent looks for ftrace's event of every function call. It is not
// opened: that would patch all functions of the kernel.
func (h *host) functionEvent() error {
	if err := h.tracefs("events/ftrace/function/id"); err != nil {
		return err
	}
	return h.tracer("function")
}

// tracer looks for one of ftrace's tracers, and whether its functions may be
// chosen: some machines refuse that to everyone.
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

// privateGraph looks whether a trace instance of one's own may have the graph
// tracer.
func (h *host) privateGraph() error {
	if err := h.tracer("function_graph"); err != nil {
		return err
	}
	return h.since(6, 11)
}

// refused is why a file can't be used that is there.
func refused(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return fmt.Errorf("refused: %w", errno)
	}
	return err
}

// addsPlaces asks whether one event may have several places.
func (h *host) addsPlaces() error {
	if h.tracingErr != nil {
		return h.tracingErr
	}
	if !h.tracing.AddsPlaces() {
		return errAbsent
	}
	return nil
}

// inReadme looks for a text in tracefs's description of itself, which has the
// parts that the kernel was built with.
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
