package snapshot

import (
	"fmt"
	"os"
	"slices"
)

// notes adds notes on what could not be read, and what would help.
func (l *look) notes() {
	note := func(format string, args ...any) {
		l.snapshot.Notes = append(l.snapshot.Notes, fmt.Sprintf(format, args...))
	}
	if l.arch == 0 {
		note("a 32-bit program: ringtap does not unwind the user stacks of 32-bit programs on %s", l.host().Arch())
	}
	if l.compat && l.opts.Locks {
		note("a 32-bit program: ringtap does not look for who holds its locks")
	}
	if slices.ContainsFunc(l.snapshot.Threads, (*Thread).generated) {
		note("code that was generated at run time has no names; a perf map in /tmp would tell them (Java: jcmd PID Compiler.perfmap, Node: --perf-basic-prof, Python from 3.12: -X perf)")
	}
	root := os.Geteuid() == 0
	switch err := l.files.deny.syscall; {
	case err != nil && root:
		note("no system calls and user stacks: %v (root lacks CAP_SYS_PTRACE here, or a security module refuses)", err)
	case err != nil:
		note("no system calls and user stacks: %v (run as root, or as the process's user where kernel.yama.ptrace_scope is 0)", err)
	}
	switch err := l.files.deny.stack; {
	case err != nil && root:
		note("no kernel stacks, only the functions where threads sleep: %v (root lacks CAP_SYS_ADMIN here, or a security module refuses)", err)
	case err != nil:
		note("no kernel stacks, only the functions where threads sleep: %v (run as root)", err)
	}
}

// generated reports whether the stack of a thread has unnamed code that is not in a file.
func (t *Thread) generated() bool {
	return slices.ContainsFunc(t.User, func(f Frame) bool { return f.Name == "" && f.Object == "[anon]" })
}
