package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// bootArgument has the guest do its work, as a child of the first process.
const bootArgument = "--boot"

// first is the first process: it starts the one that works, and waits for it and for
// all whose parents have ended, as init does. A process that nobody waits for keeps
// what it has, a seccomp filter for instance, which a test may wait for.
func first() {
	worker, err := os.StartProcess("/init", []string{"/init", bootArgument}, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		return
	}
	for {
		ended, err := unix.Wait4(-1, nil, 0, nil)
		if ended == worker.Pid || err != nil && err != unix.EINTR {
			return // which the kernel takes for a reason to panic
		}
	}
}
