// Package trace runs a tracer that prints a line for each event when it happens, as the kernel's
// trace_pipe does. The packages below it count events (count), make histograms (hist, histtrigger)
// and run the kernel's function tracers (functrace).
//
//	engine.Engine → records ─┬─ comm, fork, exit → names of threads
//	                         └─ samples → printfmt.AppendLine, stacks → Options.Out
//
// Records pass through a spool (engine.Options.Spool), so that a blocked terminal or pipe delays
// lines but does not overflow the rings. Lines are written after each round of reading, or earlier
// if there are many. So a reader sees them within half a second, and a storm of events costs few
// system calls.
package trace
