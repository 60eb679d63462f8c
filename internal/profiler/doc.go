// Package profiler is one run of collectors from end to end: it opens their events, lets
// the engine hand the records to their tables, and symbolizes and reports the windows.
//
//	reading goroutine:   run.Engine → table.Recorder → windows
//	reporting goroutine: windows → symbolize.Symbolizer → Options.Report
//
// Only a channel of finished windows connects the two, so that reading the rings never
// waits for a symbol table or a terminal. While the channel is full, the current window
// continues (table.Options.Ready). The caller's goroutine reads; the reporting goroutine
// ends before Run returns.
//
// With a Trigger, events are enabled only at alarms (pressure.go). A third goroutine waits
// for the alarms and enables and disables the events (pressure_watch.go). Meanwhile the
// kernel keeps recent samples (perfevent.Recent); the reading goroutine replays them when
// it reaches the records of the alarm's time (pressure_replay.go).
//
// A run ends with its duration, its context or its target. Reading ends first, and
// everything that was read is reported. An error of Options.Report also ends the reading;
// what was read after it is dropped.
package profiler
