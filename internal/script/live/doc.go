// Package live runs the probes of a program of the one-liner language on this machine.
//
//	plan.Event ─ Attach ─→ Attachment: sources, samplings
//	                           │
//	run.Engine → records ──────┴→ feed: values of a hit, stacks, names → Handler
//
// A value is taken from a record when the program asks for it: what a predicate keeps out
// costs no stack.
package live
