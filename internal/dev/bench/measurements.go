package main

import "slices"

// measurements has all measurements, in the order in which they run.
var measurements = slices.Concat(profiles, recordings, short, inner, userProbes, kernelProbes, collectors, programs)

// profiles compare the whole way to folded stacks, for a busy system.
var profiles = []measurement{
	{
		name: "fp", // frame pointers
		busy: []string{"threads-fp", "middle-fp"},
		tools: []tool{
			{name: "ringtap", line: "$ringtap on-cpu -v --unwind fp " + oneReport, count: folded, read: profiled},
			{name: "perf", line: "perf record -q -F 999 -a -o $out -g -- sleep $seconds", read: scriptedProfile},
		},
		compare: []comparison{
			{what: "frame pointers: CPU to folded stacks", unit: "s", own: "ringtap", peer: "perf", most: 0.2},
			{what: "frame pointers: against perf script --no-inline", unit: "s", own: "ringtap", peer: "perf: --no-inline", most: -1},
			{what: "frame pointers: recording alone", unit: "s", own: "ringtap: recording", peer: "perf: recording", most: 1},
		},
	},
	{
		name: "dwarf", // call frame information
		busy: []string{"threads-nofp", "middle-nofp"},
		tools: []tool{
			{name: "ringtap", line: "$ringtap on-cpu -v --unwind dwarf " + oneReport, count: folded, read: profiled},
			{name: "perf", line: "perf record -q -F 999 -a -o $out --call-graph dwarf -- sleep $seconds", read: scriptedProfile},
		},
		compare: []comparison{
			{what: ".eh_frame: CPU to folded stacks", unit: "s", own: "ringtap", peer: "perf", most: 0.1},
			{what: ".eh_frame: against perf script --no-inline", unit: "s", own: "ringtap", peer: "perf: --no-inline", most: -1},
			{what: ".eh_frame: recording alone", unit: "s", own: "ringtap: recording", peer: "perf: recording", most: -1},
		},
	},
	{
		name:  "start", // from spawning the tool to the first instruction of its command
		times: 4,       // a turn is short
		read:  []reading{{"", untilClock}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap on-cpu -f 999 --out $dir/start.folded -- $self " + clockArgument},
			{name: "perf", line: "perf record -q -F 999 -g -o $out -- $self " + clockArgument},
		},
		compare: []comparison{{what: "start to first armed event", unit: "ms", own: "ringtap", peer: "perf", most: 1}},
	},
	{
		name: "lives", // processes that run for less than a period
		read: []reading{{"", missed}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap on-cpu -f 999 -i 3600 --out $out -- sh -c '" + manyTrue + "; times'", count: folded},
			{name: "perf", line: "perf record -q -F 999 -g -o $out -- sh -c '" + manyTrue + "; times'"},
		},
		compare: []comparison{{what: "1500 times /bin/true: CPU time that samples miss, of getrusage's", unit: "%", own: "ringtap", peer: "perf", most: 0.5}},
	},
	{
		name:     "lives",
		workload: smallFiles,
		read:     []reading{{"", missed}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap on-cpu -f 999 -i 3600 --out $out -- sh -c 'make -sB -C $dir/small; times'", count: folded},
			{name: "perf", line: "perf record -q -F 999 -g -o $out -- sh -c 'make -sB -C $dir/small; times'"},
		},
		compare: []comparison{{what: "make of 60 small C files: CPU time that samples miss, of getrusage's", unit: "%", own: "ringtap", peer: "perf", most: 0.5}},
	},
}

// manyTrue is a shell script.
const manyTrue = "i=0; while [ $i -lt 1500 ]; do /bin/true; i=$((i+1)); done"

// short are runs of a few seconds on a host that compiles Go. They measure the cost, and by how
// much a run takes longer than -d says, including its start.
var short = []measurement{
	{
		name: "short", workload: compiling, times: 4, // a turn is short
		tools: []tool{
			{name: "on-cpu", line: "$ringtap on-cpu -d 1", read: ofSeconds(1)},
			{name: "on-cpu of 5 s", line: "$ringtap on-cpu -d 5", read: ofSeconds(5)},
			{name: "memleak", line: "$ringtap memleak -d 2", read: ofSeconds(2)},
			{name: "off-cpu", line: "$ringtap off-cpu --wakers -d 1", read: ofSeconds(1)},
		},
		compare: []comparison{
			{what: "on-cpu -d 1 of a host that compiles: CPU", unit: "s", own: "on-cpu: CPU", most: 0.08},
			{what: "the same: end after its second", unit: "s", own: "on-cpu: after", most: 0.1},
			{what: "the same: peak memory", unit: "MiB", own: "on-cpu: peak", most: 40},
			{what: "on-cpu -d 5: end after its seconds", unit: "s", own: "on-cpu of 5 s: after", most: 0.3},
			{what: "memleak -d 2: end after its seconds", unit: "s", own: "memleak: after", most: 0.3},
			{what: "off-cpu --wakers -d 1: end after its second", unit: "s", own: "off-cpu: after", most: 0.3},
		},
	},
}

// oneReport are the flags of a profile that reports once, as perf does.
const oneReport = "-f 999 -d $seconds -i $interval --out $out"

// profiled and scriptedProfile are the readings of profiles, of ringtap and of perf.
var (
	profiled        = []reading{{"", cpu}, {"recording", recorded}, {"samples", folds}}
	scriptedProfile = []reading{{"", scriptedCPU()}, {"--no-inline", scriptedCPU("--no-inline")}, {"recording", cpu}}
)

// ofSeconds returns the readings of a run with -d seconds.
func ofSeconds(seconds float64) []reading {
	return []reading{{"CPU", cpu}, {"after", after(seconds)}, {"peak", peak}}
}

// inner are benchmarks of ringtap's packages.
var inner = []measurement{
	{
		name: "inner", // unwinding, compiling tables
		read: []reading{
			{"frame", figure(benchmark("UnwindWarm", "ns/frame"), 1)},
			{"allocations", figure(benchmark("UnwindWarm", "allocs/op"), 1)},
			{"open", figure(benchmark("CompileLibc", "ns/op"), 1e-6)},
			{"rules", figure(benchmark("FirstFind", "ns/op"), 1e-3)},
		},
		tools: []tool{{name: "callchain", line: "go test -run=^$ -bench=^BenchmarkUnwind|^BenchmarkCompileLibc$|^BenchmarkFirstFind$ -benchmem ./callchain"}},
		compare: []comparison{
			{what: "unwinding one frame, warm", unit: "ns", own: "callchain: frame", most: 50},
			{what: "unwinding, allocations", own: "callchain: allocations"},
			{what: "opening libc's unwind information", unit: "ms", own: "callchain: open", most: 0.1},
			{what: "making the rules of a function", unit: "µs", own: "callchain: rules", most: 20},
		},
	},
	{
		name: "inner", // decoding
		read: []reading{
			{"sample", figure(benchmark("DecodeSampleWith20Frames", "ns/op"), 1)},
			{"sample's allocations", figure(benchmark("DecodeSampleWith20Frames", "allocs/op"), 1)},
			{"MMAP2", figure(benchmark("DecodeMmap2", "ns/op"), 1)},
			{"MMAP2's allocations", figure(benchmark("DecodeMmap2", "allocs/op"), 1)},
		},
		tools: []tool{{name: "perfevent", line: "go test -run=^$ -bench=^BenchmarkDecode -benchmem ./perfevent"}},
		compare: []comparison{
			{what: "decoding a sample of 20 frames", unit: "ns", own: "perfevent: sample", most: 60},
			{what: "decoding a sample, allocations", own: "perfevent: sample's allocations"},
			{what: "decoding an MMAP2 record", unit: "ns", own: "perfevent: MMAP2", most: 60},
			{what: "decoding an MMAP2 record, allocations", own: "perfevent: MMAP2's allocations"},
		},
	},
	{
		name:     "memory", // of the replay of an hour's profile
		workload: replay,
		read:     []reading{{"peak", peak}, {"growth", figure(benchmark("Replay", "late-growth-MiB"), 1)}},
		tools:    []tool{{name: "replay", line: "$dir/table.test -test.run=^$ -test.bench=^BenchmarkReplay$ -test.benchtime=1x"}},
		compare: []comparison{
			{what: "replay of 4 million samples: peak memory", unit: "MiB", own: "replay: peak", most: 128},
			{what: "replay: growth once all stacks are known", unit: "MiB", own: "replay: growth", most: 1},
		},
	},
}
