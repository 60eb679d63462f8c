package main

import "context"

// programs compare the one-line programs of `ringtap run` with bpftrace's. They also measure how many
// functions of Node.js and Java have no name in a profile. No other tool is compared there: without
// special flags of the runtime, no other tool has these names.
var programs = []measurement{
	{
		name: "run", times: 4, // from start to end of a program that does nothing
		read: []reading{{"", took}, {"peak", peak}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap run -e 'BEGIN { exit(); }'"},
			{name: "bpftrace", line: "bpftrace -e 'BEGIN { exit(); }'"},
		},
		compare: []comparison{
			{what: "BEGIN { exit(); }, start to end: against bpftrace", unit: "s", own: "ringtap", peer: "bpftrace", most: 0.1},
			{what: "the same, peak memory: against bpftrace", unit: "MiB", own: "ringtap: peak", peer: "bpftrace: peak", most: 0.25},
		},
	},
	{
		name:     "run", // a storm of system calls
		workload: findDD, alone: ddBytes.measure, ready: started, under: ddBytes.measure, again: true,
		read: []reading{{"", slowdown}, {"lost", uncounted}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap run -e 'tracepoint:raw_syscalls:sys_enter { @[args.id] = count(); }'", count: readsAndWrites},
			{name: "bpftrace", line: "bpftrace -e 'tracepoint:raw_syscalls:sys_enter { @[args->id] = count(); }'", count: readsAndWrites}, // 0.17 has no other spelling
		},
		compare: []comparison{
			{what: "dd bs=1, its system calls counted by number, slowdown: against bpftrace", unit: "times", own: "ringtap", peer: "bpftrace", most: 1.1},
			{what: "the same: lost of dd's 1000000 calls, at least", unit: "calls", own: "ringtap: lost"},
			{what: "the same: lost of dd's 1000000 calls, at least: bpftrace", unit: "calls", peer: "bpftrace: lost", most: -1},
		},
	},
	{
		name:     "run", // a probe on a function of libc
		workload: hitsProgram, pinned: true,
		alone: mallocFree, ready: probed, under: mallocFree, read: []reading{beyond("")},
		tools: []tool{
			{name: "ringtap", line: "$ringtap run -e 'uprobe:$libc:malloc { @[ustack] = count(); }'"},
			{name: "bpftrace", line: "bpftrace -e 'uprobe:$libc:malloc { @[ustack] = count(); }'"},
		},
		compare: []comparison{
			{what: "a hit on malloc, @[ustack] = count(): against bpftrace", unit: "ns", own: "ringtap", peer: "bpftrace", most: 1},
		},
	},
	withoutNames("node", aNode, "node internal/collect/oncpu/testdata/shares.js 200000"),
	withoutNames("java", aJava, "java -cp $dir Shares 1000000"),
}

var ddBytes = timed{"$dd if=/dev/zero of=/dev/null bs=1 count=500000", ddSeconds, 1e9 / (2 * 500_000)}

// readsAndWrites counts reads and writes, which are system calls 0 and 1 on amd64.
var readsAndWrites = counter{pattern: `^@\[[01]\]: (\d+)$`, in: stdout}

// uncounted returns how many of dd's calls the tool did not count. The true number may be
// higher, because the tool also counted reads and writes of other programs.
func uncounted(_ context.Context, t *turn) (float64, error) {
	n, err := t.counted()
	return max(0, 2*500_000-float64(n)), err
}

// withoutNames returns a measurement of a runtime: the share of samples whose leaf has no name. It
// samples a process that runs already, and a command from its first instruction on.
func withoutNames(runtime, workload, command string) measurement {
	return measurement{
		name:     "runtimes",
		workload: workload,
		read:     []reading{{"", unnamed}},
		tools: []tool{
			{name: runtime, line: "$ringtap on-cpu -f 499 -d 4 -i 3600 -p $pid --out $out", count: folded},
			{name: runtime + " as a command", line: "$ringtap on-cpu -f 499 -i 3600 --out $out -- " + command, count: folded},
		},
		compare: []comparison{
			{what: "leaves without a name, " + runtime, unit: "%", own: runtime, most: 5},
			{what: "leaves without a name, " + runtime + " as a command", unit: "%", own: runtime + " as a command", most: 5},
		},
	}
}
