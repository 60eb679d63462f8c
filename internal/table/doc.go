// Package table adds samples up in rows: the engine of all collectors, which are the
// packages of internal/questions.
//
//	records ─ Recorder ─┬─ other records → Stateful.Follow
//	                    └─ samples → stack.Store → Collector.Fold → Rows
//	                                                  every interval └→ Window → emit
//
// A sample whose stack is known is counted before it is even copied out of the ring
// (Recorder.Early): a probe may be hit a million times a second.
//
// A Recorder is the run.Sink of all tables. Nothing here waits for
// symbols or output: at the end of each interval the table becomes a Window,
// plain data that nothing changes any more, and goes to whoever symbolizes and
// prints it on another goroutine. Where that one can't keep up, windows grow
// longer (Options.Ready).
//
// Memory grows with distinct stacks, not with samples, and Options.Memory
// bounds it: past the bound, samples with a stack not seen before are counted
// on one row without frames, and Counts.Unkept says how many.
package table
