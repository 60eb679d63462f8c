// Package table adds samples up in rows. It is the engine of all collectors, which are the
// packages of internal/questions.
//
//	records ─ Recorder ─┬─ other records → Stateful.Follow
//	                    └─ samples → stack.Store → Collector.Fold → Rows
//	                                                  every interval └→ Window → emit
//
// A sample whose stack is known is counted before it is copied out of the ring
// (Recorder.Early), because a probe may be hit a million times a second.
//
// A Recorder is the run.Sink of all tables. It never waits for symbols or output. At the
// end of each interval the rows become a Window, plain data that nothing changes any more,
// which another goroutine symbolizes and prints. If that goroutine cannot keep up, windows
// get longer (Options.Ready).
//
// Memory grows with distinct stacks, not with samples, and Options.Memory bounds it. Beyond
// the bound, samples with a new stack count on one row without frames, and Counts.Unkept
// says how many.
package table
