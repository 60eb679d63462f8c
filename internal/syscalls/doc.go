// Package syscalls says in words what a thread asks of the kernel: the name of the
// system call that it is in, and the arguments that tell what it waits for.
//
//	/proc/PID/task/TID/syscall → number, six words ─┐
//	the thread's memory (texts, times, lists of fds) ├→ Describe → accept(3 → tcp 127.0.0.1:8080 listening)
//	what the file descriptors are                   ─┘
//
// Arguments that tell nothing about a wait, such as the address of a buffer, are
// left out. What can't be read is shown as the number that it is.
package syscalls

//go:generate go run generate.go
