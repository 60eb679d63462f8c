package facility

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// host is the running kernel as this process sees it.
type host struct {
	tracing    *ftrace.FS
	tracingErr error
}

func newHost() *host {
	h := &host{}
	h.tracing, h.tracingErr = ftrace.Find()
	return h
}

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
	_, err := os.Stat(filepath.Join("/sys/bus/event_source/devices", name))
	return absent(err)
}

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

// opens tries a sampling on this process.
func (h *host) opens(s perfevent.Sampling) error {
	return try(perfevent.Process(os.Getpid()), s)
}

func try(target perfevent.Target, s perfevent.Sampling) error {
	session, err := perfevent.Open(target, []perfevent.Sampling{s}, perfevent.Options{
		RingBytes: os.Getpagesize(),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err == nil {
		return session.Close()
	}
	var open *perfevent.OpenError
	if errors.As(err, &open) && open.Hint != "" {
		return errors.New(open.Hint)
	}
	return err
}

func cycles() perfevent.Sampling {
	return perfevent.Sampling{Event: perfevent.CPUCycles(), Frequency: 1, ExcludeKernel: true}
}

func clock() perfevent.Sampling {
	return perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 1, ExcludeKernel: true}
}

func cacheMisses() perfevent.Sampling {
	s := cycles()
	s.Event = perfevent.Hardware(perfevent.HardwareCacheMisses)
	return s
}

func stackCopy() perfevent.Sampling {
	s := clock()
	s.UserRegs, s.UserStack = callchain.Host().UserRegsMask(), 8192
	return s
}

func userChain() perfevent.Sampling {
	s := clock()
	s.Callchain.User = true
	return s
}

func (h *host) wholeSystem() error {
	s := clock()
	s.ExcludeKernel = false
	return try(perfevent.System(), s)
}

func (h *host) kernelSamples() error {
	s := clock()
	s.ExcludeKernel = false
	return h.opens(s)
}

// kallsyms looks whether the first address of the kernel's symbols is shown.
func (h *host) kallsyms() error {
	f, err := os.Open("/proc/kallsyms")
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

// cgroups looks for a hierarchy whose groups perf can watch. A v2 hierarchy
// serves if no v1 hierarchy has taken the controller.
func (h *host) cgroups() error {
	text, err := os.ReadFile("/proc/cgroups")
	if err != nil {
		return absent(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 4 && fields[0] == "perf_event" && fields[3] == "1" {
			return mounted(fields[1])
		}
	}
	return errAbsent
}

// mounted tells whether a cgroup hierarchy that can name groups for perf is
// mounted: version 2 for hierarchy 0, else version 1 with the controller.
func mounted(hierarchy string) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		v2 := hierarchy == "0" && fields[2] == "cgroup2"
		v1 := fields[2] == "cgroup" && strings.Contains(","+fields[3]+",", ",perf_event,")
		if v1 || v2 {
			return nil
		}
	}
	return errors.New("no cgroup hierarchy with it is mounted")
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

// readable tries to read the first bytes of a file.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return absent(err)
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) && path != "/proc/self/mem" {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
