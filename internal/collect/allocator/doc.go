// Package allocator finds the functions that allocate and free memory in the files of a process. It
// knows what their arguments mean, and attaches perf events to them.
//
//	target → Find → Files ─ Resolve ─→ Functions ─ Attach ─→ Events → perf session
//	   │                       │                      └ few events, of many places each
//	   │                       └ by symbol: libc, musl, jemalloc, tcmalloc, static programs
//	   └ what the process has mapped, what a command will, programs that run, allocators known by name
//
// A function that allocates has two probes. The one at its entry has the size and the caller's
// stack, and the one at its return has the address. Both are at the same instruction, so that a
// call takes one breakpoint and one return. A function that frees has a probe at its entry only.
//
// Functions call each other: calloc calls malloc, posix_memalign calls memalign, realloc calls
// free, operator new calls malloc, and malloc calls mmap. Only the outermost call counts
// (internal/probe/pair). Operators new and delete are probed only in files whose allocator they use
// directly (jemalloc and tcmalloc). The ones in the C++ library call malloc, so that probing them
// would only double the cost of a call.
//
// If there is no memory, such an operator new throws std::bad_alloc. A return probe ends a program
// that throws through it. So ringtap probes throwing forms only on request (Where.ThrowingNew), and
// the other forms always.
//
// ringtap does not see memory from system calls that bypass these functions (Go's runtime), nor
// from functions that were inlined or have no symbol. It also misses allocators that a process
// loads after Find has looked, unless Find knows their names.
package allocator
