// Package snapshot looks at the threads of a process once, without stopping them: where
// each waits, for how long, and the stacks that led there.
//
//	/proc/PID/task/TID/{stat,sched,wchan,stack} ─→ state, time, kernel stack ───┐
//	/proc/PID/task/TID/syscall ─┬→ internal/syscalls → the call in words ───────┤
//	                            └→ pc, sp, process_vm_readv → callchain.Waiting ┼→ Thread
//	perf samples of threads that run ─→ kernel stack, user stack ───────────────┘
//
// A thread that waits does not change its stack, so that it can be read from
// outside. That it did wait all the while is seen by how often it was switched to:
// where that has changed meanwhile it is read again. A thread that runs is sampled
// by the clock instead.
package snapshot
