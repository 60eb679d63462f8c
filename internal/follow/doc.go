// Package follow is one run of a tracer that shows every event as it happens,
// one line each, as the kernel's own trace_pipe does.
//
//	run.Engine → records ─┬─ comm, fork, exit → names of threads
//	                      └─ samples → printfmt.AppendLine, stacks → Options.Out
//
// The records come by a spool (run.Options.Spool), so that a terminal or
// a pipe that takes nothing for a while holds up the lines and not the rings.
// Lines are written when a round of reading is over or much has come together,
// so that a reader sees them within half a second, and a storm of events costs
// few system calls.
package follow
