// Package syscalltext returns the text that a system call's parameters point to, such as the file name of
// openat(2). Before Linux 6.19, the tracepoint records only its address.
//
//	tracepoint ─ Params: which point to text ─ Attach: which way ─┬─ Tracepoint: the kernel's record has it
//	                                                              ├─ Kprobe: a probe on the call's function fetches it
//	                                                              ├─ Near: the helper reads it while the thread is stopped
//	                                                              └─ Memory: it is read when the record comes
//
//	sample ─┬─ what the record has (event.go) ─────────────────┬─ texts.go ─→ extended record (layout.go)
//	        ├─ athit.Reader: the helper, the stack, memory ────┤
//	        └─ execve(2): the program that was started (exec.go)┘
//
// A successful execve(2) replaces the memory with its texts. But the record of sched:sched_process_exec and the
// stack of the new program have copies of them.
//
// With every method, an event's format has a field __NAME_val for each parameter NAME that points to text, like
// the formats of Linux 6.19. Package ftrace prints such records as that kernel does.
package syscalltext
