// Package run is the one engine: it takes the records of a source, keeps the process
// table current, and hands them to a sink.
//
//	Source ─ records in time order ─ ticks ─ process table ─ Sink
//
// A Source is the rings of this machine (Live) or a Capture of some. A Sink makes tables,
// lines or histograms of the records, or looks for a thread. Sinks say when they want a
// tick, a window's end for instance; ticks come between the records of earlier and of later
// times, so that a window ends at an exact time whenever its records are read.
//
//	reading goroutine:   rings ─┬─ Early ─ what needs no more than counting
//	                            └─ copies ─┐
//	caller's goroutine:                    └─ ticks, process table, Record
//
// What went wrong on the way is in the Account, which every command shows.
package run
