// Package engine reads the records of a source in time order, keeps the process table up to date,
// and passes each record to a sink. Every command that reads rings uses it.
//
//	Source ─ records in time order ─ ticks ─ process table ─ Sink
//
// A Source is the rings of this machine (Live) or a recording (package capture). A Sink turns the
// records into tables, lines or histograms, or looks for a thread. A sink can ask for a tick at a
// given time, such as the end of a window. The tick comes after all records of earlier times and
// before all later ones. So a window ends at an exact time, no matter when its records are read.
//
//	reading goroutine:   rings ─┬─ Early ─ records that only need counting
//	                            └─ copies ─┐
//	caller's goroutine:                    └─ ticks, process table, Record
//
// # A run
//
// Open opens the events of a live source. Start reads the running processes and makes what Options
// ask for: the names of threads, and the reader of interpreters' calls. The caller then makes its
// sink and calls Prepare, Enable, Run and Close. A run ends when its context is done, its duration
// is over, its target has ended, or End is called. Records that are already waiting are still
// handled. Files needed for their stacks may be read for ten more seconds (see Late). Runs that
// read no rings use a Loop, which ends for the same reasons.
//
// The Account says what went wrong. Every command shows it.
package engine
