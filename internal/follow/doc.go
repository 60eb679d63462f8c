// Package follow is one run of a tracer that prints one line for each event as it happens,
// as the kernel's own trace_pipe does.
//
//	run.Engine → records ─┬─ comm, fork, exit → names of threads
//	                      └─ samples → printfmt.AppendLine, stacks → Options.Out
//
// Records pass through a spool (run.Options.Spool), so that a terminal or a pipe that
// blocks for a while delays the lines and not the rings. Lines are written after each round
// of reading, or when many have come together: a reader sees them within half a second,
// and a storm of events costs few system calls.
package follow
