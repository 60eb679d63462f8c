// Package live attaches a bpftrace program's probes on this machine and passes their hits to the program.
//
//	plan.Event ─ Attach ─→ Attachment: sources, samplings
//	                              │
//	engine.Engine → records ──────┴→ feed: values of a hit, stacks, names → Handler
//
// A hit is one sample of a probe or of a perf event. A value is taken from a hit when the program asks for it, so
// a hit that a predicate rejects costs no stack.
//
// An athit.Reader reads memory that the record of a hit does not have. If the path to the memory is in the
// program's text, such as args.path->name, the Reader reads it at each hit (memory.go). If the program computes an
// address, the memory there is looked up in this order (pointer.go):
//
//   - the sample's copy of the stack
//   - the hit's record
//   - memory in the records of earlier hits (argCache)
//   - what the Reader read at the hit
//   - the process's memory now, which is late: it may have changed since the hit
//
// Kernel memory comes from records only, including those of event probes (pointeeReader). The exception is
// curtask: see Options.Task.
package live
