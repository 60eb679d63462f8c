// Package collect holds the collectors: what each samples, how a sample adds
// to a row, what its columns are. One file is one collector; the rest is what
// they share.
//
//	records ─ Recorder ─┬─ other records → process.Table
//	                    └─ samples → stacks (unwound, interned) → Collector.Fold → table
//	                                                  every interval └→ Window → emit
//
// A sample whose stack has been seen before, byte for byte, needs no unwinding
// (memo), and is counted before it is even copied out of the ring (Early): a probe
// may be hit a million times a second.
//
// A Recorder runs on the goroutine that handles the records. Nothing here waits for
// symbols or output: at the end of each interval the table becomes a Window,
// plain data that nothing changes any more, and goes to whoever symbolizes and
// prints it on another goroutine. Where that one can't keep up, windows grow
// longer (Options.Ready).
//
// Memory grows with distinct stacks, not with samples, and Options.Memory
// bounds it: past the bound, samples with a stack not seen before are counted
// on one row without frames, and Counts.Unkept says how many.
package collect
