// Package probe attaches to the code that a spec names and returns the sources of its records.
//
//	text → Parse → Spec → Open → Set: Sources, Notes ─→ perf session
//	                       │
//	  uprobe ──────────────┤ functions, places and USDT probes of a file
//	  kprobe ──────────────┤ functions of the kernel
//	  ftrace ──────────────┘ tracepoints, and the formats of all records
//
// A Source is one perf event with everything its reader must know: the fields of its records,
// the kernel's filter, what each sample must carry, and the place or function of a hit. The
// package does not know who reads the sources.
//
// Open traces nothing. Tracing starts when a perf session (package perfevent) opens the
// sources' events. Close the Set after the session.
package probe
