// Package stdio writes the profile of a recording as perf report --stdio prints it: the same
// columns, percentages and order of rows.
//
// The data's way through the rooms:
//
//	cmd/ringtap        the sort keys become labels: a thread's name, its number, the CPU
//	collect/recorded   each row's stack ends in its labels; an event has two columns, the sum of
//	                   the periods and the number of samples
//	collect/profiler   symbolizes the rows: a profile.Profile
//	output/stdio       functions.go: frames become functions, as perf tells them apart
//	                   entries.go: rows become the entries of perf's table, by the sort keys
//	                   columns.go: headings, widths and cells
//	                   graph.go: the callchains below an entry, as chains.go says
//
// The layout is defined by hists__fprintf in tools/perf/ui/stdio/hist.c, the entries by
// iter_add_next_cumulative_entry in tools/perf/util/hist.c, and the keys in tools/perf/util/sort.c.
//
// Some things differ from perf on purpose. A function that no symbol table names is one entry; perf
// has an entry for each address in it. Callers are looked up at their call, perf looks up the return
// address. Addresses outside of all mappings are left out of callchains. A callchain ends where the
// sample was taken, even if the recorder left out that part. Recordings from a pipe have children,
// and tracepoints have the same default keys as other events.
package stdio
