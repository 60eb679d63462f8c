package snapshot

import (
	"fmt"
	"os"
	"slices"
)

// notes says what could not be read, and what would help.
func (l *look) notes() {
	note := func(format string, args ...any) {
		l.snapshot.Notes = append(l.snapshot.Notes, fmt.Sprintf(format, args...))
	}
	if l.foreign {
		note("a 32-bit program: its system calls have numbers only, and its user stacks are not shown")
	}
	if slices.ContainsFunc(l.snapshot.Threads, (*Thread).generated) {
		note("code that was generated at run time has no names; a perf map in /tmp would tell them (Java: jcmd PID Compiler.perfmap, Node: --perf-basic-prof, Python from 3.12: -X perf)")
	}
	if err := l.files.deny.syscall; err != nil {
		if os.Geteuid() == 0 {
			note("no system calls and user stacks: %v (that takes CAP_SYS_PTRACE, which this root lacks or a security module refuses)", err)
		} else {
			note("no system calls and user stacks: %v (that takes root; or the process's own user, where kernel.yama.ptrace_scope is 0)", err)
		}
	}
	if err := l.files.deny.stack; err != nil {
		if os.Geteuid() == 0 {
			note("no kernel stacks, but where threads sleep: %v (that takes CAP_SYS_ADMIN, which this root lacks or a security module refuses)", err)
		} else {
			note("no kernel stacks, but where threads sleep: %v (that takes root)", err)
		}
	}
}

// generated tells whether a thread is in code without a name that is in no file.
func (t *Thread) generated() bool {
	return slices.ContainsFunc(t.User, func(f Frame) bool { return f.Name == "" && f.Object == "[anon]" })
}
