package library

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Options say from where a name is seen.
type Options struct {
	PID     int         // as this process sees its files, and what it has mapped first; 0: as we do
	Root    string      // the directory taken for "/"; "": that of PID, else ours
	Machine elf.Machine // of the libraries that are wanted; EM_NONE: that of PID, else the host's
}

// Target is a file that was found.
type Target struct {
	File       *os.File // open for reading; the caller closes it when the kernel has been told KernelPath
	Path       string   // for people: where we see the file, though links there may lead elsewhere for us
	KernelPath string   // leads the kernel to the inode of File; has no blanks
}

// Find finds the file that a name means. A name with a slash is a path, relative
// to our working directory; with a PID or Root it is seen from there, and
// "/proc/N/root/…" is seen from process N whatever the options say. A name
// without one is that of a mapped file of PID, of a command or of a library.
//
// Errors are *NotFoundError and *AmbiguousError for names without a slash,
// *fs.PathError for those with one, *ScriptError for a file that begins with
// "#!", and *ProcessError where PID can't be looked into. Files that are not
// ELF are returned like others.
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
	// Whoever can open nothing finds nothing.
	root, err := os.Open("/")
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return nil, fmt.Errorf("look for %s: %w", shown(name), err)
	}
	if err == nil {
		root.Close()
	}
	return nil, &NotFoundError{Name: name, Near: v.near(name)}
}

// findPath opens a path.
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

// cutRoot splits a path at the root directory of a process that it goes through,
// so that absolute links behind it are followed as that process would.
func cutRoot(name string) (root, rest string, ok bool) {
	after, ok := strings.CutPrefix(name, "/proc/")
	if !ok {
		return "", "", false
	}
	process, after, ok := strings.Cut(after, "/")
	if !ok || process == "" || process == ".." {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(after, "root/")
	return "/proc/" + process + "/root", "/" + rest, ok
}
