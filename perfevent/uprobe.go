package perfevent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Uprobe returns the event of a user probe: each time that any program comes to
// the instruction at offset (in bytes) of the file at path, or with isReturn each
// time that the function that begins there returns. refCtr is the offset in the
// file of a semaphore that is counted up while the event is open, as probes of
// SystemTap's kind have it; 0 means none.
//
// The probe is of the kernel's uprobe PMU: it is gone when the last of its
// events is closed, however that came about. Each open event of it costs time at
// each hit, which many events of one tracefs uprobe do not. Raw samples hold
// the tracepoint's common fields and then the address of the probe, for a return
// the address of the function and of where it returns to.
//
// It cannot be opened on a Process or a Started command (ErrNotInherited): for
// each thread or child that inherits the event, the kernel reads the path again
// from the address that it was given by us, but in the memory of the program that
// forks, whose clone(2) then fails (perf_uprobe_init in
// kernel/trace/trace_event_perf.c). A tracefs uprobe is for those.
//
// Nothing is opened here. The error is ErrNoEvent on kernels that have no such
// PMU (before Linux 4.17).
func Uprobe(path string, offset, refCtr uint64, isReturn bool) (Event, error) {
	return uprobe(os.DirFS("/sys/bus/event_source/devices"), path, offset, refCtr, isReturn)
}

func uprobe(devices fs.FS, path string, offset, refCtr uint64, isReturn bool) (Event, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return Event{}, fmt.Errorf("probe in file %q: not a path", path)
	}
	label := "uprobe"
	var terms []string
	if isReturn {
		label = "uretprobe"
		terms = append(terms, "retprobe")
	}
	if refCtr != 0 {
		terms = append(terms, fmt.Sprintf("ref_ctr_offset=%#x", refCtr))
	}
	e, err := dynamic(devices, "uprobe", terms)
	if err != nil {
		return Event{}, err
	}
	e.attr.Label = fmt.Sprintf("%s:%s:%#x", label, path, offset)
	e.attr.Config2 = offset
	e.kind, e.text = uprobeEvent, path
	return e, nil
}

// refuseInherited keeps user probes away from targets that it would break: see
// Uprobe.
func (s *Session) refuseInherited() error {
	if s.target.kind != processTarget {
		return nil
	}
	for i := range s.samplings {
		if event := s.samplings[i].Event; event.kind == uprobeEvent {
			return &OpenError{Event: event.String(), Target: s.target.String(), Kind: ErrNotInherited, Err: ErrNotInherited,
				Hint: "the program could start no threads or children any more; a tracefs uprobe can do it"}
		}
	}
	return nil
}

// enotsupp is the kernel's ENOTSUPP, which should never reach a program and has
// no name there (include/linux/errno.h).
const enotsupp = unix.Errno(524)

// explainUprobe says why a probe could not be placed. It reports whether the
// error is about the place.
func (e *OpenError) explainUprobe(event Event) bool {
	info, err := os.Stat(event.text)
	switch {
	case errors.Is(e.Err, unix.ENOENT), errors.Is(e.Err, unix.ENOTDIR):
		e.Hint = "there is no such file"
	case errors.Is(e.Err, enotsupp), errors.Is(e.Err, unix.EOPNOTSUPP):
		e.Err = fmt.Errorf("%w: the kernel cannot probe this instruction", e.Err)
		e.Hint = "it can neither step over nor emulate it; another instruction of the function may do"
	case errors.Is(e.Err, unix.EILSEQ), errors.Is(e.Err, unix.ENOEXEC):
		e.Hint = "there is no instruction that can be probed at the offset; is it the first byte of one?"
	case errors.Is(e.Err, unix.EIO):
		e.Hint = "the file cannot be read into memory"
	case !errors.Is(e.Err, unix.EINVAL):
		return false
	case err == nil && !info.Mode().IsRegular():
		e.Hint = "only regular files can be probed"
	case err == nil && event.attr.Config2 >= uint64(info.Size()):
		e.Hint = fmt.Sprintf("the file has %d bytes only", info.Size())
	default:
		e.Hint = "the kernel can probe instructions in code that is mapped executable, on arm64 none that a trap would break, where " +
			"another instruction of the function may do; a semaphore must lie at an even offset, and be the same for all probes of one place"
	}
	e.Kind = ErrNotProbeable
	return true
}
