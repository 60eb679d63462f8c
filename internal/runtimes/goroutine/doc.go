// Package goroutine reads the goroutines of a live Go process from outside: the state of each,
// what it waits for and since when, and its stack. The process is neither stopped nor traced;
// it does not notice.
//
//	mapped files ─ Find ─→ Runtime: which Go, where runtime.allgs is, what a runtime.g looks like
//	                          │
//	process_vm_readv ─ Goroutines ─→ runtime.g, stack, runtime.g again ─→ Goroutine
//
// # Where things are
//
// The list of goroutines is the variable runtime.allgs, found in the symbol table. A program
// without one still has a function table (package gotable), whose module data says where the
// variables are. The list is the one slice there whose elements all prove to be goroutines, and
// whose array another variable, runtime.allgptr, also points to.
//
// The offsets of fields change with each Go release. Releases from Go 1.18 on are in a table
// (layouts_table.go). A test makes it from the debug information of programs built with each
// release. For other releases the program's own debug information is read. Either layout is
// used only if it gives sensible results: each goroutine holds its own address, its status
// exists, its stack has bounds. Nothing is guessed: what can't be known is an *UnknownError.
//
// # What runs meanwhile
//
// A goroutine is read, then its stack, then the goroutine again. The stack is used only if the
// goroutine did not run in between: the runtime counts how often it stops running, and the
// other fields are the same. Otherwise all is read again, a few times. A goroutine that changes
// each time is returned without a stack, and Missing says why.
//
// A running goroutine has no stack that can be read, only the thread it runs on, whose
// registers would be needed. A goroutine in a system call has both. The runtime's own stacks
// (g0, gsignal) belong to no goroutine and are not shown.
//
// # Limits
//
// Data in the process is not trusted: counts are bounded, and addresses are only ever read.
// Goroutines created while the list is read may be missing. Goroutines that end meanwhile are
// left out. The frames of inlined functions are left to the symbolizer.
//
// The runtime itself knows only roughly how long a goroutine has waited. It notes that during
// garbage collection, at least every two minutes, and uses the time of the collection before.
// Shorter waits have no time.
package goroutine
