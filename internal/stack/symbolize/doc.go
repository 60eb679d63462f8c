// Package symbolize names stacks. Each distinct frame is named once, by the tables of package
// symbols.
//
//	stack.Set ─ frame (object, offset) ─┬─ in a file ──────→ symbols.File
//	  stacks leaf first                 ├─ in the kernel ──→ symbols.Kallsyms
//	                                    └─ generated code ─→ symbols.PerfMap
//	                                                               │
//	profile.Profile, stacks root first  ←── frame with its name ───┘
//
// It runs when a report is made, on the reporter's goroutine. Results are kept from one set to the
// next:
//
//   - Names of frames in files are kept for the whole run. Each file looks up all new frames of a
//     set together. It keeps its symbol tables only after many lookups.
//   - The kernel's symbols work the same way. Their text is read while the first set is still
//     being recorded.
//   - Perf maps grow, so they are kept for one set only. If each stack is a set, they are kept
//     for a while (Options.CachePerfMaps).
//
// Files are read by the readers in the set. So code of exited processes and of deleted files has
// names too.
//
// A profile has each distinct frame, stack and object once. Names are as in the target; output
// forms escape them.
package symbolize
