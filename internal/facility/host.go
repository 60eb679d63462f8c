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
	root       string // of its file systems: "/"
	tracing    *ftrace.FS
	tracingErr error // why there is no tracing
}

func newHost() *host {
	h := &host{root: "/"}
	h.tracing, h.tracingErr = ftrace.Find()
	return h
}

// path leads to a file of the host.
func (h *host) path(name string) string { return filepath.Join(h.root, name) }

// errAbsent says that the kernel does not have a facility.
var errAbsent = errors.New("not in this kernel")

func absent(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return errAbsent
	}
	return err
}

// pmu looks for a dynamic PMU.
func (h *host) pmu(name string) error {
	_, err := os.Stat(h.path(filepath.Join("sys/bus/event_source/devices", name)))
	return absent(err)
}

// readable tries to open a file that is there with its facility.
func (h *host) readable(name string) error {
	f, err := os.Open(h.path(name))
	if err != nil {
		return absent(err)
	}
	return f.Close()
}

// kallsyms looks whether the first address of the kernel's symbols is shown.
func (h *host) kallsyms() error {
	f, err := os.Open(h.path("proc/kallsyms"))
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
