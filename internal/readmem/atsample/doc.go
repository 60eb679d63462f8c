// Package atsample reads what a perf sample does not carry, as it was when the sample was taken: the calls of
// interpreted code (Python, PHP, Ruby, Perl), the user stack past the sample's copy, and the other stacks that Go
// and C switch to. Each reading says whether the thread may have run on before it was read.
//
// A Reader has two ways to read. Reader.At returns the results of both.
//
// # Samples of running threads: the helper
//
// The helper is a second process with one real-time thread per CPU: see package helper. A sample wakes the
// thread of its CPU, which reads the memory before the sampled thread returns to user mode.
//
//	run                                       helper process
//	Watch: has an interpreter ──────────────→ attach to its runtimes                  visitor.go
//	ReadDeepStacks: stacks were cut ────────→ list its stack areas                    areas.go
//	FollowSwitches: callers are missing ────→ which code switches stacks              request.go
//	                                          at each sample, visitor.Visit:          visitor.go
//	                                            walk the interpreters                 visitor.go
//	                                            read the stack past the copy          deepstacks.go
//	                                            find and read other stacks            stackswitches.go
//	At: Calls ←────────────────────────────── chains; pages, or hashes of known ones  chains.go, stackparts.go
//	MarkEnd, MarkDead: no frames there ─────→ do not read that again                  areas.go
//
// The samples belong to the run's own session. So each has at most one reading, with the same CPU, thread and
// time. A reading arrives up to a seventh of a second after its sample, and At waits for it.
//
// A visit takes 20 to 120 µs. If hits of probes come faster than MaxVisitRate, a WakeupThrottle makes only every
// n-th hit wake the helper.
//
// # Samples that start a wait: the off-CPU reader
//
// If a sample is taken as its thread leaves the CPU, no helper is needed. The thread stands still until the
// kernel switches to it, and the session's rings say when. A thread of ringtap polls the rings every 2 ms:
//
//	run                                       offCPUReader.run
//	Watch, ReadDeepStacks, FollowSwitches ──→ decode the rings: who waits?            waittracker.go
//	                                          walk the interpreters of those threads  waitingprocess.go
//	                                          read their stacks past the copies       waitingstacks.go
//	At: Calls ←────────────────────────────── decode again: exact if they still wait  offcpu.go
package atsample
