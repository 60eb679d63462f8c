// Package interp finds the calls of interpreted and just-in-time compiled code in a process:
// which functions of Python, PHP, Ruby or Perl a thread is in, with their files and lines.
//
//	mapped files ─ Attach, Detector ─→ Runtime            once per process
//	Thread, Memory ─ Walker ─→ []Call                     per sample: pointers only
//	Call ─ Runtime.Frames ─→ []Frame                      afterwards, distinct calls only
//	native chain, []Call ─ Join ─→ []Entry                 who called whom
//
// # Two kinds of runtimes
//
// In most runtimes the calls are a list in the heap, whose head belongs to the thread. One C
// function, the loop, runs many of them. Join replaces its frames in the native chain. Other
// runtimes, V8 and HotSpot, have a frame on the thread's stack for each call; Call.PC says
// which.
//
// # What is read when
//
// A Walker may run while the thread stands still for it, on a thread that must not wait. It
// reads a bounded number of words, allocates nothing and takes no lock. Names are read later,
// when the object that had them may be gone. So a runtime stores some of an object's words with
// what it read of it, and compares these words again before it uses the result.
//
// # Hostile memory
//
// No value read from the process is trusted. Chains have a maximum length, so that a cycle
// ends. Types of objects are checked. Lengths of text are bounded. Names are returned as the
// process has them; the code that prints them escapes them.
package interp
