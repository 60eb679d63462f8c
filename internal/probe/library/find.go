package library

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/proc"
)

// Options say from where a name is seen.
type Options struct {
	PID     int         // the process that sees the files; its mapped files come first; 0: this process
	root    string      // directory to use as "/"; "": PID's root, otherwise ours
	Machine elf.Machine // machine of wanted libraries; EM_NONE: PID's, otherwise the host's
}

// Target is the file that a name means.
type Target struct {
	File       *os.File // open for reading; the caller closes it after the kernel has been told KernelPath
	Path       string   // for people: our path to the file, though links in it may lead elsewhere for us
	KernelPath string   // leads the kernel to the inode of File; has no blanks
}

// Find finds the file that a name means. A name with a slash is a path, relative to our working
// directory. If o has a PID or root, the path is resolved there; "/proc/N/root/…" is always
// resolved in process N. A name without a slash is a mapped file of PID, a command, or a
// library.
//
// Errors are *NotFoundError and *AmbiguousError for names without a slash, and *fs.PathError
// for names with one. A file that starts with "#!" gives *ScriptError. If PID's files can't be
// read, the error is *ProcessError. Find also returns files that are not ELF.
func Find(name string, o Options) (*Target, error) {
	if name == "" {
		return nil, errors.New("a target has no name")
	}
	v, err := newView(o)
	if err != nil {
		return nil, err
	}
	f, err := v.find(name)
	if err != nil {
		return nil, err
	}
	if err := f.script(); err != nil {
		f.close()
		return nil, err
	}
	return f.target(), nil
}

func (v *view) find(name string) (*found, error) {
	if strings.Contains(name, "/") {
		return v.findPath(name)
	}
	ways := []func(string) (*found, error){v.findCommand, v.findLibrary}
	if v.pid != 0 {
		ways = append([]func(string) (*found, error){v.findMapped}, ways...)
	}
	for _, way := range ways {
		if f, err := way(name); f != nil || err != nil {
			return f, err
		}
	}
	// If we have no descriptors left, nothing was found for that reason.
	root, err := os.Open("/")
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return nil, fmt.Errorf("look for %s: %w", shown(name), err)
	}
	if err == nil {
		root.Close()
	}
	return nil, &NotFoundError{name: name, near: v.near(name)}
}

func (v *view) findPath(name string) (*found, error) {
	if root, rest, ok := cutRoot(name); ok {
		v = &view{root: root, machine: v.machine}
		name = rest
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", name, err)
	}
	f, err := v.open(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: shown(v.path(path)), Err: err}
	}
	return f, nil
}

// cutRoot splits a path that goes through the root directory of a process. Absolute links in
// the rest are then followed as in that process.
func cutRoot(name string) (root, rest string, ok bool) {
	after, ok := strings.CutPrefix(name, proc.Live.Name(""))
	if !ok {
		return "", "", false
	}
	process, after, ok := strings.Cut(after, "/")
	if !ok || process == "" || process == ".." {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(after, "root/")
	return proc.Live.Name(process + "/root"), "/" + rest, ok
}
