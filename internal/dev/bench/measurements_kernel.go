package main

import "slices"

// kernelProbes are measured in guests, because not every machine has kernel probes. The
// guests run Debian's kernel and, for perf-tools' funccount, the kernel with the function profiler.
var kernelProbes = []measurement{
	{
		name: "kprobe", kernel: "6.1", // a hit counted by stack
		workload: hitsProgram, probe: "--add $event=read_zero",
		alone: readZero, ready: patched("read_zero"), under: readZero, read: []reading{beyond(""), beyond("elapsed"), {"lost", lost}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap probe --count -i 3600 -k --out $out read_zero", count: folded},
			{name: "bpftrace", line: "bpftrace -o $out -e 'kprobe:read_zero { @[kstack] = count(); }'", count: mapCounts},
			{name: "perf record", line: "perf record -a -g -c 1 -e $event -o $out --kernel-callchains", count: captured},
			{name: "ringtap, both", line: "$ringtap probe --count -i 3600 --out $out read_zero", count: folded},
			{name: "bpftrace, both", line: "bpftrace -o $out -e 'kprobe:read_zero { @[kstack, ustack] = count(); }'", count: mapCounts},
			{name: "perf record, both", line: "perf record -a -g -c 1 -e $event -o $out", count: captured},
		},
		compare: slices.Concat(perStack(", by kernel stack", ""), perStack(", by kernel and user stack", ", both")),
	},
	{
		name: "attach", kernel: "6.1", // to about a thousand functions, and detach from them
		alone: functionsArmed, ready: launched, under: functionsArmed,
		read: []reading{during("armed"), during("functions"), {"end", ending}},
		tools: []tool{
			{name: "ringtap funccount", line: "$ringtap funccount *read*"},
			{name: "ringtap kprobe", line: "$ringtap kprobe --limit 2000 p:*read*"},
			{name: "bpftrace", line: "env BPFTRACE_MAX_PROBES=2000 bpftrace -e 'kprobe:*read* { @[func] = count(); }'", try: "bpftrace --version"},
		},
		compare: []comparison{
			{what: "ringtap funccount '*read*', from start until no function more is armed: against bpftrace", unit: "s", own: "ringtap funccount: armed", peer: "bpftrace: armed", most: 1},
			{what: "ringtap funccount '*read*', from Ctrl-C to the end: against bpftrace", unit: "s", own: "ringtap funccount: end", peer: "bpftrace: end", most: 1},
			{what: "ringtap kprobe '*read*', from start until no function more is armed: against bpftrace", unit: "s", own: "ringtap kprobe: armed", peer: "bpftrace: armed", most: 1},
			{what: "ringtap kprobe '*read*', from Ctrl-C to the end: against bpftrace", unit: "s", own: "ringtap kprobe: end", peer: "bpftrace: end", most: 1},
			{what: "ringtap funccount '*read*'", unit: "functions", own: "ringtap funccount: functions", most: -1},
			{what: "ringtap kprobe '*read*'", unit: "functions", own: "ringtap kprobe: functions", most: -1},
			{what: "bpftrace '*read*'", unit: "functions", own: "bpftrace: functions", most: -1},
		},
	},
	{
		name: "count", kernel: "6.1", // attach to functions whose calls a program counts
		alone: functionsArmed, ready: launched, under: functionsArmed,
		read: []reading{during("armed"), during("functions"), {"end", ending}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap run -e 'kprobe:vfs_* { @[probe] = count(); }'"},
			{name: "bpftrace", line: "bpftrace -e 'kprobe:vfs_* { @[probe] = count(); }'"},
		},
		compare: []comparison{
			{what: "run 'kprobe:vfs_* { @[probe] = count(); }', from start until no function more is armed: against bpftrace", unit: "s", own: "ringtap: armed", peer: "bpftrace: armed", most: 0.1},
			{what: "the same, from Ctrl-C to the end: against bpftrace", unit: "s", own: "ringtap: end", peer: "bpftrace: end", most: 1},
			{what: "ringtap's functions", unit: "functions", own: "ringtap: functions", most: -1},
			{what: "bpftrace's functions", unit: "functions", own: "bpftrace: functions", most: -1},
		},
	},
	{
		name: "count", kernel: "6.1", // a call counted by such a program
		workload: hitsProgram,
		alone:    readZero, ready: patched("vfs_read"), under: readZero, read: []reading{beyond(""), beyond("elapsed")},
		tools: []tool{
			{name: "ringtap", line: "$ringtap run -e 'kprobe:vfs_* { @[probe] = count(); }'"},
			{name: "bpftrace", line: "bpftrace -e 'kprobe:vfs_* { @[probe] = count(); }'"},
		},
		compare: perCall("6.1", "run 'kprobe:vfs_* { @[probe] = count(); }'", "bpftrace"),
	},
	{
		name: "funccount", kernel: "6.1", // a call counted
		workload: hitsProgram,
		alone:    readZero, ready: patched("vfs_read"), under: readZero, read: []reading{beyond(""), beyond("elapsed")},
		tools: []tool{
			{name: "ringtap", line: "$ringtap funccount vfs_*"},
			{name: "bpftrace", line: "bpftrace -e 'kprobe:vfs_* { @[func] = count(); }'"},
		},
		compare: perCall("6.1", "funccount 'vfs_*'", "bpftrace"),
	},
	{
		name: "funccount", kernel: "nobpf",
		workload: hitsProgram,
		alone:    readZero, ready: patched("vfs_read"), under: readZero, read: []reading{beyond(""), beyond("elapsed")},
		tools: []tool{
			{name: "ringtap", line: "$ringtap funccount vfs_*"},
			{name: "perf-tools' funccount", line: "bash $perftools/kernel/funccount vfs_*"},
		},
		compare: perCall("nobpf", "funccount 'vfs_*'", "perf-tools' funccount"),
	},
}

// perStack returns the rows for one kind of stacks.
func perStack(kind, suffix string) []comparison {
	hit, all, lost := "a hit on read_zero"+kind, "the same with the tool's own work"+kind, "lost"+kind
	ringtap, bpftrace, perf := "ringtap"+suffix, "bpftrace"+suffix, "perf record"+suffix
	return []comparison{
		{what: hit + ": against bpftrace", unit: "ns", own: ringtap, peer: bpftrace, most: 1},
		{what: hit + ": against perf record", unit: "ns", own: ringtap, peer: perf, most: 1},
		{what: all + ": against bpftrace", unit: "ns", own: ringtap + ": elapsed", peer: bpftrace + ": elapsed", most: -1},
		{what: all + ": against perf record", unit: "ns", own: ringtap + ": elapsed", peer: perf + ": elapsed", most: -1},
		{what: lost, unit: "events", own: ringtap + ": lost"},
		{what: lost + ": bpftrace", unit: "events", peer: bpftrace + ": lost", most: -1},
		{what: lost + ": perf record", unit: "events", peer: perf + ": lost", most: -1},
	}
}

// perCall returns the rows for counting the calls of many functions on one kernel.
func perCall(kernel, command, peer string) []comparison {
	what := kernel + ": a call counted by " + command
	return []comparison{
		{what: what + ": against " + peer, unit: "ns", own: "ringtap", peer: peer, most: 1},
		{what: what + ", with the tool's own work: against " + peer, unit: "ns", own: "ringtap: elapsed", peer: peer + ": elapsed", most: 1},
	}
}
