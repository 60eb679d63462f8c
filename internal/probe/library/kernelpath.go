package library

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/host/proc"
)

// maxKernelPath leaves room for the rest of a definition in the 4096 bytes that the kernel
// accepts (WRITE_BUFSIZE in kernel/trace/trace.c).
const maxKernelPath = 2048

func (f *found) target() *Target {
	return &Target{File: f.file, Path: f.path, KernelPath: f.kernelPath()}
}

// kernelPath returns a path by which the kernel finds the open file: the plain path if it leads
// there, otherwise one through the descriptor.
func (f *found) kernelPath() string {
	var st unix.Stat_t
	if passes(f.plain) && unix.Stat(f.plain, &st) == nil && sameFile(&st, &f.st) {
		return f.plain
	}
	return proc.Live.Path(os.Getpid(), fmt.Sprintf("fd/%d", f.file.Fd()))
}

// passes reports whether the kernel's parser of dynamic events takes a path unchanged. It also
// excludes ':', which would make the line ambiguous for programs that read it back, and
// unprintable characters, which would reach terminals.
func passes(path string) bool {
	return len(path) <= maxKernelPath && ftrace.Spellable(path) &&
		!strings.ContainsFunc(path, func(r rune) bool { return r == ':' || !unicode.IsPrint(r) })
}
