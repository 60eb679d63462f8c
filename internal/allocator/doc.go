// Package allocator finds the functions that allocate and free memory in the files that
// a process maps, knows what their arguments mean, and attaches perf events to them.
//
//	target → Find → Files ─ Resolve ─→ Functions ─ Attach ─→ Events → perf session
//	   │                       │                      └ few events, of many places each
//	   │                       └ by symbol: libc, musl, jemalloc, tcmalloc, static programs
//	   └ what the process has mapped, what a command will, programs that run, allocators known by name
//
// Every function that allocates has a probe at its entry, where the size and the
// caller's stack are, and one at its return, where the address is. Both are at the
// same instruction, so that a call takes one breakpoint and one return. Functions
// that free have one at the entry only.
//
// Functions call each other: calloc malloc, posix_memalign memalign, realloc free,
// operator new malloc, and malloc mmap. Whoever reads the records counts the
// outermost call only (internal/pair). Operators new and delete are probed in files
// that have an allocator of their own (jemalloc's and tcmalloc's do not go through
// malloc), and not in the C++ library, which does: every probe costs its call twice.
//
// Such an operator new throws std::bad_alloc where there is no memory, and a return
// probe ends the program that throws through it. So it is watched only on request
// (Where.ThrowingNew); the forms that do not throw always are.
//
// What is not seen: memory taken by system calls without these functions (Go's
// runtime), by functions that were inlined or have no symbol, and allocators that a
// process loads after Find has looked, but for those known by name.
package allocator
