package facility

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
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

// functionEvent opens ftrace's event of every function call. It is disabled,
// so that no function is traced.
func (h *host) functionEvent() error {
	if h.tracingErr != nil {
		return h.tracingErr
	}
	id, err := h.tracing.EventID("ftrace", "function")
	if err != nil {
		return absent(err)
	}
	return try(perfevent.System(), perfevent.Sampling{Event: perfevent.Tracepoint(id, "ftrace:function"), Period: 1})
}
