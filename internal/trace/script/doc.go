// Package script prints the samples of a recording as text, in the format of perf-script(1). Many
// programs read that format: stackcollapse-perf.pl, and the importers of Firefox Profiler and
// speedscope.
//
//	sample ─┬─ heading: thread, CPU, time, period, event          heading.go, fields.go
//	        ├─ tracepoint: its fields, by the recorded format     tracepoint.go
//	        └─ frames: address, function, offset, object          frames.go
//
// The format is defined by perf_sample__fprintf_start and process_event in
// tools/perf/builtin-script.c, and by sample__fprintf_callchain in tools/perf/util/evsel_fprintf.c.
//
// Names are ringtap's own. They may differ from perf's if an address has several symbols, or if no
// symbol table names a function. Functions of callers are looked up at the call, one byte before
// the return address. perf looks them up at the return address, which may belong to the next
// function.
//
// Frames are named once and then kept as text, up to a bound. So memory does not grow with the
// number of samples.
package script
