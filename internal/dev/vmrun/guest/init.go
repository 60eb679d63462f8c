package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// bootArgument makes this program do the guest's work, as a child of the first process.
const bootArgument = "--boot"

// first is the first process. It starts the process that does the work, and waits for it and
// for orphans, as init does. A process for which nobody waits keeps its resources, such as a
// seccomp filter, and a test may wait for their release.
func first() {
	worker, err := os.StartProcess("/init", []string{"/init", bootArgument}, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		return
	}
	for {
		ended, err := unix.Wait4(-1, nil, 0, nil)
		if ended == worker.Pid || err != nil && err != unix.EINTR {
			return // the kernel then panics
		}
	}
}
