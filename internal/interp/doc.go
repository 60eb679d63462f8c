// Package interp finds the calls of interpreted and just-in-time compiled code in a
// process: which functions of Python, PHP, Ruby, Perl a thread is in, with their files
// and lines.
//
//	mapped files ─ Attach, Detector ─→ Runtime            once per process
//	Thread, Memory ─ Walker ─→ []Call                     per sample: pointers only
//	Call ─ Runtime.Frames ─→ []Frame                      afterwards, distinct calls only
//	native chain, []Call ─ Join ─→ []Entry                 who called whom
//
// # Two kinds of runtimes
//
// Of most runtimes the calls are a list in the heap, whose head belongs to the thread.
// One function of C, the loop, runs many of them. Its frames in the native chain are
// replaced: see Join. Others, V8 and HotSpot, have a frame on the thread's stack for each
// call, and tell by Call.PC which.
//
// # What is read when
//
// A Walker may run while the thread stands still for it, on a thread that must not wait:
// it reads a bounded number of words, allocates nothing and takes no lock. Names are read
// later, when the object that had them may be gone: a runtime keeps what it has read of
// an object with some words of it, and reads those again before it believes itself.
//
// # Hostile memory
//
// Nothing that is read is believed: chains have a greatest length, so that a cycle ends;
// an object must be of the type that it is taken for; lengths of text have bounds.
// Names are as the process has them; who prints them escapes them.
package interp
