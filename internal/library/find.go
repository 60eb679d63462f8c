package library

import (
	"debug/elf"
	"errors"
	"os"
)

// Options say from where a name is seen.
type Options struct {
	PID     int         // as this process sees its files, and what it has mapped first; 0: as we do
	Root    string      // directory taken for "/"; "" is "/", or the root of PID
	Machine elf.Machine // of the libraries wanted; EM_NONE is the host's
}

// Target is a file that was found.
type Target struct {
	File       *os.File // open for reading; the caller closes it last, for KernelPath may lead through it
	Path       string   // for people: as the process of PID sees it
	KernelPath string   // leads the kernel to the same inode; without blanks
}

// Find finds the file that a name means.
func Find(name string, o Options) (*Target, error) {
	return nil, errors.New("library.Find: not yet")
}
