// Package snapshot looks at the threads of a process once, without stopping them. It finds out
// where each thread waits, for how long, and the stacks that led there.
//
//	/proc/PID/task/TID/{stat,sched,wchan,stack} ─→ state, time, kernel stack ───┐
//	/proc/PID/task/TID/syscall ─┬→ internal/snapshot/syscalls → the call in words ───────┤
//	                            └→ pc, sp, process_vm_readv → callchain.Waiting ┼→ Thread
//	perf samples of threads that run ─→ kernel stack, user stack ───────────────┘
//
// A waiting thread does not change its stack, so another process can read it. The count of context
// switches tells whether the thread waited during the whole read. If the count has changed, the
// thread is read again. A running thread is sampled with a clock event instead.
package snapshot
