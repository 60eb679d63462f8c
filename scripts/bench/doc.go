// Command bench measures ringtap beside perf, bpftrace and perf-tools on this
// machine and prints one table: medians, their ratio, the target and whether it
// was met. The table of measurements in the files measurements*.go says what is measured:
// the workload, the tools by their command lines, the operation measured alone and under
// each tool, what is read of a turn, and what the figures should be. turn.go runs it.
//
//	make bench BENCHFLAGS='--only fp,start --runs 5 --seconds 10'
//	make bench BENCHFLAGS='--only malloc,free,lost,probe-cpu,armed --hits 500000'
//
// The tools alternate within each run. A tool that fails has no more turns.
//
// # Profiles
//
// CPU seconds are user and system time of the tool and of every process that it
// waited for, as wait4(2) reports them. The workload is started afresh for each
// recording and is bounded in time. perf's way to folded stacks is perf record,
// perf script and stackcollapse-perf.pl of the FlameGraph checkout named by
// FLAMEGRAPH_DIR; without one, perf's own part alone is compared, and the table
// says so. perf script may take minutes, most of them to look up inlined
// functions; after --script-timeout it is stopped and the CPU time it had used by
// then counts, which favors perf. A row of its own compares with perf script
// --no-inline.
//
// # Short lives
//
// A command starts many processes that run for less than a sampling period, and prints
// the CPU time of all of them at its end (times in the shell, which is getrusage's). The
// samples at 999 Hz stand for so much; the row is how far that is off. One standard
// deviation of the samples of a second is 3 %.
//
// # Pressure
//
// ringtap probe -T is woken by the kernel at the same moment as a thread of the
// bench, which has a trigger of the same kind and, where it may, real-time
// priority. That moment is the alarm; ringtap says on the same clock when its first
// event was (-v).
//
// # User probes
//
// One program (testdata/hits.c) makes the calls, on the last CPU; the tools are
// kept on CPU 0, except where their start is timed. It is told over a pipe what
// to do, so that the same process is measured without a probe and under each
// tool in turn, and it sees a probe come and go by the bytes of the functions
// that it calls, whichever tool sets it. Half a second after the probe has come
// the calls begin. The values are wall clock, medians of three rounds of --hits
// calls, less the rounds without a probe of the same run: a machine that is busy
// otherwise spoils them. Losses are counted in ten times as many calls. All tools
// watch the whole system, except where losses are counted: there they watch the one
// process. perf and bpftrace probe the first instruction; those of their rounds whose
// hits are single-stepped are five times shorter.
//
// perf-tools is the checkout named by PERF_TOOLS_DIR; its uprobe clears the kernel's
// shared trace buffer and wants debugfs, which is mounted for it and unmounted again.
//
// # Kernel probes
//
// The tools alternate within one boot of a guest (scripts/vm). An emulated machine's
// time says nothing, and less where others use the host; the guest's clocks count
// instructions instead, a nanosecond each. That comes out the same in every boot, but
// it is not time: an instruction that repeats itself (a copy of the user stack) counts
// as often as it does so, a cache miss costs nothing. A round has a twentieth of --hits.
//
// The program reads bytes of /dev/zero, one at a time: vfs_read is called, and
// read_zero, which nobody else calls. What a tool adds is in the CPU time of the
// thread, and with the tool's own work in elapsed time, on one CPU.
//
// # Programs
//
// The same one-liner runs as a program of ringtap run and of bpftrace. A runtime's row is
// the share of the samples whose leaf is an address or "[unknown]", without flags of the
// runtime: of a process that runs already, and of a command, whose start is sampled, too.
package main
