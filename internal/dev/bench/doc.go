// Command bench compares ringtap with perf, bpftrace and perf-tools on this machine.
// It prints one table: medians, their ratio, the target and whether it was met. The
// files measurements*.go define the measurements: the workload, the command lines of
// the tools, the operation that is measured alone and under each tool, the values that
// are read from a turn, and their targets. turn.go runs a turn.
//
//	make bench BENCHFLAGS='--only fp,start --runs 5 --seconds 10'
//	make bench BENCHFLAGS='--only malloc,free,lost,probe-cpu,armed --hits 500000'
//
// The tools alternate within each run. A tool that fails gets no more turns.
//
// # Profiles
//
// CPU seconds are user and system time of the tool and of every process that it
// waited for, as wait4(2) reports them. The workload is started again for each
// recording and is bounded in time. perf's way to folded stacks is perf record,
// perf script and stackcollapse-perf.pl from the FlameGraph checkout in
// FLAMEGRAPH_DIR. Without that, only perf's own part is compared, and the table
// says so. perf script may take minutes, mostly to look up inlined functions. After
// --script-timeout it is stopped, and the CPU time that it has used counts, which
// favors perf. A separate row compares with perf script --no-inline.
//
// # Recordings
//
// Both tools read the same recording, which the bench makes once. ringtap report and perf report
// print their default. The way to folded stacks is ringtap flame, and perf script with
// stackcollapse-perf.pl.
//
// # Short lives
//
// A command starts many processes that run for less than a sampling period. At its end
// it prints the CPU time of all of them (the shell's times, which uses getrusage). The
// row shows how far the CPU time by samples at 999 Hz is from that. One standard
// deviation of the samples of a second is 3 %.
//
// # Pressure
//
// The kernel wakes ringtap probe -T and a thread of the bench at the same time. The
// thread has a trigger of the same kind and, if permitted, real-time priority. The
// time at which it wakes is the alarm. With -v, ringtap prints the time of its first
// event on the same clock.
//
// # User probes
//
// One program (testdata/hits.c) makes the calls, on the last CPU. The tools are kept
// on CPU 0, unless their start is measured. The program takes commands over a pipe,
// so that the same process is measured without a probe and under each tool in turn.
// It detects a probe of any tool by the changed bytes of the functions that it calls.
// The calls start half a second after the probe was set.
//
// The values are wall-clock times: medians of three rounds of --hits calls, less the
// time of the rounds without a probe in the same run. Other load on the machine spoils
// them. Losses are counted in ten times as many calls. All tools watch the whole
// system, but to count losses they watch only the one process. perf and bpftrace probe
// the first instruction. If the kernel must single-step it, their rounds are five times
// shorter.
//
// perf-tools is the checkout in PERF_TOOLS_DIR. Its uprobe clears the kernel's shared
// trace buffer. It needs debugfs, which bench mounts for it and unmounts again.
//
// # Kernel probes
//
// The tools alternate within one boot of a guest (scripts/vm). Time in an emulated
// machine means nothing, even less if other programs use the host. So the guest's clocks
// count instructions, one per nanosecond. The result is the same in every boot, but it
// is not time. An instruction that repeats itself (a copy of the user stack) counts once
// per repetition, and a cache miss costs nothing. A round has a twentieth of --hits.
//
// The program reads bytes of /dev/zero, one at a time. The kernel then calls vfs_read,
// and read_zero, which nothing else calls. The guest has one CPU. The thread's CPU time
// shows what a tool adds to the thread, and the elapsed time also contains the tool's own
// work.
//
// # Programs
//
// The same one-liner runs under ringtap run and under bpftrace. A row for a runtime is the
// percentage of samples whose leaf is an address or "[unknown]". The runtime has no special
// flags. One row samples a process that runs already, the other a command from its start.
package main
