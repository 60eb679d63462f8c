// Package syscalltext gets the text behind the pointers of system calls: the
// file name of openat(2), which its tracepoint records as an address only.
//
//	Format → Params → Attach → Event ─┬─ Tracepoint: the kernel's record has the text
//	                                  ├─ Kprobe: a probe on the system call's function fetches it
//	                                  ├─ Near: a helper reads the process's memory while its thread
//	                                  │        stands still at the call (package exacttext)
//	                                  └─ Memory: Reader reads the process's memory when the record comes
//
// A call of execve(2) that succeeds leaves none of its memory: the record of the program
// that it starts has its texts (execs).
//
// Whatever the way, an Event's Format has a field __NAME_val for each parameter
// NAME that points to text, as the formats of Linux 6.19 do, and package ftrace
// prints its records as that kernel does.
package syscalltext
