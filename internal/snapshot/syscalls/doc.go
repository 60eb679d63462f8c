// Package syscalls describes the system call that a thread is in: its name, and the arguments that
// tell what it waits for.
//
//	/proc/PID/task/TID/syscall → number, six words ─┐
//	the thread's memory (texts, times, lists of fds) ├→ Describe → accept(3 → tcp 127.0.0.1:8080 listening)
//	what the file descriptors are                   ─┘
//
// Arguments that tell nothing about a wait, such as the address of a buffer, are omitted. Memory
// that cannot be read is printed as the argument's number.
package syscalls

//go:generate go run generate.go
