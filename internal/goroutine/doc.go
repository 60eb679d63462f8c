// Package goroutine reads the goroutines of a live Go process from outside: what
// state each is in, what it waits for and since when, and its stack. The process is
// not stopped and not traced; it does not notice.
//
//	mapped files ─ Find ─→ Runtime: which Go, where runtime.allgs is, what a runtime.g looks like
//	                          │
//	process_vm_readv ─ Goroutines ─→ runtime.g, stack, runtime.g again ─→ Goroutine
//
// # Where things are
//
// The list of goroutines is the variable runtime.allgs, by the symbol table. A
// program without one still has a function table (package gotable), whose module
// data tells where the variables are: the list is the one slice there whose elements
// all prove to be goroutines, and whose address the variable beside it repeats.
//
// What lies where in a goroutine changes with each Go. Releases from Go 1.18 on are
// in a table that a test makes from the debug information of programs built by each
// (layouts_table.go); of others the program's own debug information is read. Either
// is believed only after what is read by it makes sense: each goroutine holds its own
// address, its state is one that exists, its stack has bounds. Nothing is guessed:
// what can't be known is an *UnknownError.
//
// # What runs meanwhile
//
// A goroutine is read, then its stack, then the goroutine again. Only if it did not
// run between the two (the runtime counts how often it stops running, and the rest is
// the same) is the stack taken; else all is read again, a few times. One that never
// holds still is handed on without a stack, and says so.
//
// A goroutine that runs has no stack that could be read: it has the thread it runs
// on, whose registers are needed. One in a system call has both. The runtime's own
// stacks (g0, gsignal) belong to no goroutine and are not shown.
//
// # Limits
//
// What the process holds is not believed: counts have bounds, addresses are only ever
// read. Goroutines that are made while the list is read may be missing, and those
// that end then are left out. The frames of inlined functions are for the symbolizer.
// How long a goroutine waits the runtime itself knows only roughly: it notes it while
// it collects garbage, at the latest every two minutes, and takes the time of the
// collection before. What waits for less has no time.
package goroutine
