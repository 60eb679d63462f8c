package library

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxKernelPath leaves room for the rest of a definition in the 4096 bytes that
// the kernel takes of one (WRITE_BUFSIZE in kernel/trace/trace.c).
const maxKernelPath = 2048

func (f *found) target() *Target {
	return &Target{File: f.file, Path: f.path, KernelPath: f.kernelPath()}
}

// kernelPath returns a path by which the kernel finds the open file: the plain
// one if it leads there, else one that goes through the descriptor.
func (f *found) kernelPath() string {
	var st unix.Stat_t
	if passes(f.plain) && unix.Stat(f.plain, &st) == nil && sameFile(&st, &f.st) {
		return f.plain
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.file.Fd())
}

// passes tells whether the kernel's parser of dynamic events leaves a path as it
// is: it ends at blanks, which to the kernel include the byte 0xa0 of UTF-8
// letters (lib/ctype.c), a '#' begins a comment, and a ':' makes the line
// ambiguous for those who read it back.
func passes(path string) bool {
	if path == "" || len(path) > maxKernelPath {
		return false
	}
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f || c == '#' || c == ':' {
			return false
		}
	}
	return true
}
