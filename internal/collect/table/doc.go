// Package table counts samples in rows. Each collector is a package in internal/collect, and says
// what a row is.
//
//	records ─ Recorder ─┬─ other records → Stateful.Follow
//	                    └─ samples → stack.Store → Collector.Fold → Rows
//	                                                  every interval └→ Window → emit
//
// If no files must be read for it, a sample is counted before it is copied out of the ring
// (Recorder.Early). A probe may be hit a million times a second.
//
// A Recorder is the engine.Sink of all tables. It never waits for symbols or output. At the end of
// each interval the rows become a Window: plain data that does not change any more. Another
// goroutine symbolizes and prints it. If that goroutine cannot keep up, windows get longer
// (Options.Ready).
//
// Memory grows with distinct stacks, not with samples, and Options.Memory bounds it. Beyond the
// bound, samples with a new stack are counted on one row without frames. Counts.Unkept is their
// number.
package table
