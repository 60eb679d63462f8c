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
// from one set to the next: the names of files' frames for the whole run. Each file is
// asked for all new frames of a set at once, and keeps its symbol tables only when it was
// asked often; so are the kernel's symbols, whose text is read while the first set is
// still recorded. Perf maps, which grow, are kept for one set only, or for a while where
// each stack is a set (Options.CachePerfMaps). Files are read
// through the readers that the set carries, so that processes that have exited and
// files that are gone symbolize too.
//
// Everything distinct is in a profile once: a frame, a stack, an object. Names
// are as the target has them; an output form escapes them.
package symbolize
