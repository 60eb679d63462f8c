// Package follow is one run of a tracer that shows every event as it happens,
// one line each, as the kernel's own trace_pipe does.
//
//	perfevent.Session → records ─┬─ comm, fork, exit → names of threads
//	                             ├─ mmap and the like → process.Table, for stacks
//	                             └─ samples → printfmt.AppendLine, stacks → Options.Out
//
// The records come by a spool (perfevent.Reader.Spool), so that a terminal or
// a pipe that takes nothing for a while holds up the lines and not the rings.
// Lines are written when a round of reading is over or much has come together,
// so that a reader sees them within half a second, and a storm of events costs
// few system calls.
//
// Everything runs on the caller's goroutine and the spool's.
package follow
