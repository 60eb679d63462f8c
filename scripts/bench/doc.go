// Command bench measures ringtap beside perf on this machine and prints one
// table: medians, their ratio, the target and whether it was met.
//
//	make bench BENCHFLAGS='--only fp,start --runs 5 --seconds 10'
//
// The measurements:
//
//	fp      CPU seconds from nothing to folded stacks, frame pointers, whole system
//	dwarf   the same with stacks unwound by call frame information
//	start   seconds from spawning the tool to the first instruction of its command
//	inner   the benchmarks of the packages: unwinding, decoding, compiling tables
//	memory  peak memory of the replay of an hour's profile
//
// CPU seconds are user and system time of the tool and of every process that
// it waited for, as wait4(2) reports them. The two tools alternate within each
// run, under a workload that is started afresh for each recording and is
// bounded in time. perf's way to folded stacks is perf record, perf script and
// stackcollapse-perf.pl of the FlameGraph checkout named by FLAMEGRAPH_DIR;
// without one, perf's own part alone is compared, and the table says so.
// perf script may take minutes, most of them to look up inlined functions; after
// --script-timeout it is stopped and the CPU time it had used by then counts,
// which favours perf. A row of its own compares with perf script --no-inline.
package main
