// Command bench measures ringtap beside perf, bpftrace and perf-tools on this
// machine and prints one table: medians, their ratio, the target and whether it
// was met.
//
//	make bench BENCHFLAGS='--only fp,start --runs 5 --seconds 10'
//	make bench BENCHFLAGS='--only malloc,free,lost,probe-cpu,armed --hits 500000'
//
// The measurements:
//
//	fp         CPU seconds from nothing to folded stacks, frame pointers, whole system
//	dwarf      the same with stacks unwound by call frame information
//	start      seconds from spawning the tool to the first instruction of its command
//	inner      the benchmarks of the packages: unwinding, decoding, compiling tables
//	memory     peak memory of the replay of an hour's profile
//	malloc     nanoseconds that a user probe on malloc adds to a call, counted by stack
//	free       the same on free, where a probe at the first instruction is slow; and
//	           counted without stacks
//	hist       nanoseconds that a histogram of the times of malloc's calls adds to each
//	memleak    nanoseconds that memleak adds to a pair of malloc and free
//	lost       hits on malloc at full speed that a tool does not have in the end
//	probe-cpu  CPU seconds of a tool for a million hits on malloc, to stacks
//	armed      milliseconds from spawning a tool to the first hit that it counts
//	pressure   milliseconds from an alarm of pressure to the first event recorded
//	kprobe     what a kernel probe adds to a call that it counts by stack, and losses
//	attach     seconds to trace about a thousand kernel functions, and to end that
//	off-cpu    microseconds that off-cpu adds to operations that switch threads, CPU
//	           seconds of it
//	io         nanoseconds that io adds to a system call that moves bytes
//	funccount  what counting the kernel's 'vfs_*' adds to each call
//
// # Profiles
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
//
// # Pressure
//
// Two programs of a control group want CPU 0, which is cpu pressure of the group;
// dd(1) calls read(2) all the time on the last CPU, which is the event. ringtap
// probe -T is woken by the kernel at the same moment as a thread of the bench, which
// has a trigger of the same kind and, where it may, real-time priority. That moment
// is the alarm; ringtap says on the same clock when its first event was (-v). With
// --before the recent samples are kept meanwhile.
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
// otherwise spoils them. All tools watch the whole system, but where hits are
// counted for their loss, ringtap and perf watch the one process, and trace_pipe
// has a filter on its thread.
//
// By stack, ringtap is "probe -u", perf "record -g", bpftrace
// "@[ustack]=count()"; counting only, "funccount", "stat" and "@=count()". perf
// and trace_pipe use an event that perf probe makes on the function, which is
// removed in the end. perf and bpftrace probe the first instruction; those of
// their rounds whose hits are single-stepped are five times shorter. trace_pipe
// is read by cat in a tracing instance of its own, and has what the kernel says
// was read there. The CPU seconds of perf are those of perf record for each
// sample recorded and of perf script (and stackcollapse-perf.pl) for each sample
// printed, so that neither what perf has lost nor --script-timeout favours it.
//
// A tool's start ends with the first call of a64l that is in its count: the
// program calls it every 100 µs, and which call that was follows from how many
// there were and how many the tool has. perf-tools is the checkout named by
// PERF_TOOLS_DIR; its uprobe clears the kernel's shared trace buffer and wants
// debugfs, which is mounted for it and unmounted again.
//
// # Kernel probes
//
// kprobe, attach and funccount boot a guest (scripts/vm) with ringtap and the peers
// in it, since not every machine has kernel probes: Debian's 6.1, and for
// perf-tools' funccount the kernel with the function profiler. The tools alternate
// within one boot. An emulated machine's time says nothing, and less where others
// use the host; the guest's clocks count instructions instead, a nanosecond each.
// That comes out the same in every boot, but it is not time: an instruction that
// repeats itself (a copy of the user stack) counts as often as it does so, a cache
// miss costs nothing. A round has a twentieth of --hits.
//
// The same program reads bytes of /dev/zero, one at a time: vfs_read is called, and
// read_zero, which nobody else calls. What a tool adds is in the
// CPU time of the thread, and with the tool's own work in elapsed time, on one CPU.
// When a tool has armed its functions the kernel's own list enabled_functions says,
// which is asked five times a second.
package main
