package main

import "slices"

// collectors compare what the collectors and `ringtap stack` cost programs.
var collectors = []measurement{
	{
		name:     "stack", // of a process with many threads
		workload: manyThreads, read: []reading{{"", took}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap stack $pid"},
			{name: "gdb", line: "gdb -nx -p $pid -batch -ex 'thread apply all bt'"},
		},
		compare: []comparison{{what: "a look at 10000 threads: against gdb", unit: "s", own: "ringtap", peer: "gdb", most: 0.1}},
	},
	{
		name:     "stack", // by how much the process becomes slower
		workload: manyThreads, alone: oneCount, ready: launched, under: oneCount, read: []reading{{"", slowdown}},
		tools: []tool{{name: "ringtap", line: "taskset -c $others $ringtap stack $pid"}},
		compare: []comparison{
			{what: "the process's own speed, looked at all the time, of that alone", own: "ringtap", most: 1.01},
		},
	},
	{
		name:     "stack", // of a process with many goroutines
		workload: manyGoroutines, read: []reading{{"", took}, {"peak", peak}},
		tools: []tool{{name: "ringtap", line: "$ringtap stack $pid"}},
		compare: []comparison{
			{what: "a look at 100000 goroutines", unit: "s", own: "ringtap", most: 2},
			{what: "the same: peak memory", unit: "MiB", own: "ringtap: peak", most: 256},
		},
	},
	{
		name:     "off-cpu", // every switch of the system, with its stacks
		workload: perfBench, alone: pipe.measure, ready: started, under: pipe.measure, again: true,
		read: []reading{beyond(""), beyond("CPU")}, tools: switchTools,
		compare: slices.Concat(slowerBy("perf bench sched pipe, an operation", ""),
			slowerBy("perf bench sched pipe, CPU of an operation", ": CPU")),
	},
	{
		name:     "off-cpu",
		workload: pgbench, alone: transaction, ready: started, under: transaction, again: true,
		read: []reading{beyond("")}, tools: switchTools,
		compare: slowerBy("pgbench -S, a transaction", ""),
	},
	{
		name:     "off-cpu", // CPU seconds to the report
		workload: perfBench, ready: started, under: halfMillion.measure,
		tools: []tool{
			{name: "ringtap", line: offCPU, read: []reading{{"", cpu}, {"received", received}}},
			{name: "perf record and script", line: recordSwitches, read: []reading{{"", scriptedCPU()}}},
		},
		compare: []comparison{
			{what: "a million switches of perf bench sched pipe, CPU to folded stacks: against perf record and script", unit: "s",
				own: "ringtap", peer: "perf record and script", most: 0.1},
		},
	},
	{
		name:     "io", // a system call that moves bytes and takes the kernel hardly any time
		workload: findDD, alone: dd.measure,
		read: []reading{{"", dd.beyond}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap io -u -i 3600 --out $out -- " + dd.line},
			{name: "bpftrace", line: "bpftrace -o $out -e '" + countMoved + "' -c '" + dd.line + "'"},
			// Without stacks:
			{name: "perf trace -s", line: "perf trace -s -o $out " + dd.line},
			{name: "strace -c -f", line: "strace -c -f -o $out " + dd.line},
		},
		compare: []comparison{
			{what: "a read or write of dd bs=512, by stack: against bpftrace", unit: "ns", own: "ringtap", peer: "bpftrace", most: 1},
			{what: "a read or write of dd bs=512, by stack: against perf trace -s", unit: "ns", own: "ringtap", peer: "perf trace -s", most: 0.5},
			{what: "a read or write of dd bs=512, by stack: against strace -c -f", unit: "ns", own: "ringtap", peer: "strace -c -f", most: 0.5},
		},
	},
}

var (
	dd          = timed{"$dd if=/dev/zero of=/dev/null bs=512 count=100000", ddSeconds, 1e9 / (2 * 100_000)}
	pipe        = timed{"perf bench sched pipe -l 100000", perfBenchSeconds, 1e6 / 100_000}
	halfMillion = timed{"perf bench sched pipe -l 500000", perfBenchSeconds, 1e6 / 500_000} // a million switches
)

const (
	offCPU         = "$ringtap off-cpu -i 3600 --out $dir/off.folded"
	recordSwitches = "perf record -q -e sched:sched_switch -a -g -o $out"
)

var switchTools = []tool{
	{name: "ringtap", line: offCPU},
	{name: "perf record -g", line: recordSwitches},
	{name: "bpftrace", line: "bpftrace -e 'tracepoint:sched:sched_switch { @[kstack, ustack] = count(); }'", killed: true},
}

// slowerBy returns the rows that compare one quantity of an operation.
func slowerBy(operation, quantity string) []comparison {
	return []comparison{
		{what: operation + ": slower by: against perf record -g", unit: "µs", own: "ringtap" + quantity, peer: "perf record -g" + quantity, most: 0.5},
		{what: operation + ": slower by: against bpftrace", unit: "µs", own: "ringtap" + quantity, peer: "bpftrace" + quantity, most: 1},
	}
}

// countMoved does in bpftrace what `ringtap io` does: bytes, calls and time by user stack.
const countMoved = `
tracepoint:syscalls:sys_enter_read, tracepoint:syscalls:sys_enter_write /pid == cpid/ { @begin[tid] = nsecs; }
tracepoint:syscalls:sys_exit_read, tracepoint:syscalls:sys_exit_write /@begin[tid]/ {
	@time[ustack] = sum(nsecs - @begin[tid]); @calls[ustack] = count(); @bytes[ustack] = sum(args->ret); delete(@begin[tid]);
}`
