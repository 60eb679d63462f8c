// Package profiler runs collectors from start to end. It opens their events, lets the engine pass
// the records to their tables, and symbolizes and reports the windows.
//
//	caller's goroutine:  engine.Engine → table.Recorder → windows
//	reporting goroutine: windows → symbolize.Symbolizer → Options.Report
//
// Only a channel of finished windows connects the two, so that handling records never waits for a
// symbol table or a terminal. While the channel is full, the current window continues
// (table.Options.Ready). The window of the whole run does not use the channel: the caller's
// goroutine symbolizes it after the reporting goroutine has ended.
//
// With a Trigger, events are enabled only at alarms (pressure.go). A third goroutine waits for
// alarms, and enables and disables the events (pressure_watch.go). Between alarms the kernel keeps
// recent samples (perfevent.Recent). The goroutine that reads records replays them when it reaches
// the records from the time of the alarm (pressure_replay.go).
//
// A run ends with its duration, its context or its target. Reading ends first, and
// everything that was read is reported. An error of Options.Report also ends the reading;
// what was read after it is dropped.
package profiler
