package facility

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/symbols"
)

// host is the running kernel as this process sees it.
type host struct {
	root       string // its root directory: "/"
	tracing    *ftrace.FS
	tracingErr error // why there is no tracing
}

func newHost() *host {
	h := &host{root: "/"}
	h.tracing, h.tracingErr = ftrace.Find()
	return h
}

// path returns the path of a file of the host. name is relative to the root directory.
func (h *host) path(name string) string { return filepath.Join(h.root, name) }

// errAbsent is returned if the kernel does not have a facility.
var errAbsent = errors.New("not in this kernel")

func absent(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return errAbsent
	}
	return err
}

// pmu returns nil if the kernel has the dynamic PMU called name.
func (h *host) pmu(name string) error {
	_, err := os.Stat(h.path(filepath.Join("sys/bus/event_source/devices", name)))
	return absent(err)
}

// readable returns nil if a file can be opened that the kernel has if it has the facility.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return absent(err)
	}
	return f.Close()
}

// kallsyms returns nil if the kernel shows the addresses of its symbols. It looks at the first ones.
func (h *host) kallsyms() error {
	f, err := h.proc().Kallsyms()
	if err != nil {
		return absent(err)
	}
	defer f.Close()
	const first = 4096
	text, err := io.ReadAll(io.LimitReader(f, first))
	if err != nil {
		return err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	_, err = symbols.ReadKallsyms(bytes.NewReader(whole))
	return err
}
