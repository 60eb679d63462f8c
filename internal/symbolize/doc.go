// Package symbolize names stacks: it gives each distinct frame its name, once, by the
// tables of package symbols.
//
//	stack.Set ─ frame (object, offset) ─┬─ in a file ──────→ symbols.File
//	  stacks leaf first                 ├─ in the kernel ──→ symbols.Kallsyms
//	                                    └─ generated code ─→ symbols.PerfMap
//	                                                               │
//	profile.Profile, stacks root first  ←── frame with its name ───┘
//
// It runs at report time, on the reporter's goroutine, and keeps what it has learned
// from one set to the next: frames of files and the kernel's symbols for the whole
// run; the symbols of files until there are many; perf maps, which grow, for one set
// only, or for a while where each stack is a set (Options.Brief). Files are read
// through the readers that the set carries, so that processes that have exited and
// files that are gone symbolize too.
//
// Everything distinct is in a profile once: a frame, a stack, an object. Names
// are as the target has them; an output form escapes them.
package symbolize
