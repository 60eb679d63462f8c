// Package profiler is one run of collectors from end to end: it opens their events, has
// the engine hand the records to their tables, and the windows symbolized and reported.
//
//	reading goroutine:   run.Engine → table.Recorder → windows
//	reporting goroutine: windows → symbolize.Symbolizer → Options.Report
//
// The two meet in a channel of finished windows alone, so that reading the
// rings never waits for a symbol table or a terminal: while the channel is full
// the window under way goes on (table.Options.Ready). The reading goroutine is
// the caller's; the other ends before Run returns.
//
// With a Trigger nothing is sampled but at alarms (pressure.go): a third goroutine
// waits for them and has the events enabled and disabled (pressure_watch.go). What
// came before an alarm is kept by the kernel meanwhile (perfevent.Recent); the reading
// goroutine replays it when it comes to the records of the alarm's time
// (pressure_replay.go).
//
// Whatever ends a run (its duration, its context, its target's end) ends the
// reading first; what was read is then reported to the end. An error of
// Options.Report ends the reading too, and what was read after it is dropped.
package profiler
