// Package profiler is one run of a collector from end to end: it opens the
// events, keeps the process table current, closes windows and has them
// symbolized and reported.
//
//	reading goroutine:   perfevent.Session → collect.Recorder → windows
//	reporting goroutine: windows → symbolize.Symbolizer → Options.Report
//
// The two meet in a channel of finished windows alone, so that reading the
// rings never waits for a symbol table or a terminal.
package profiler
