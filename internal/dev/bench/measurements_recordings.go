package main

// recordings compare how a recording is made, and what is done with one: of half a minute of compiling at 20 kHz, with
// about a million samples, half of whose stacks are distinct. perf looks up no inlined functions.
var recordings = []measurement{
	{
		name: "record", workload: compiling, read: []reading{{"", cpu}, {"size", sizeOf("record.data")}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap record -F 999 -a -o $dir/record.data sleep $seconds"},
			{name: "ringtap without names", line: "$ringtap record -F 999 -a --no-symbols -o $dir/record.data sleep $seconds"},
			{name: "ringtap fp", line: "$ringtap record -F 999 -a --no-symbols --call-graph fp -o $dir/record.data sleep $seconds"},
			{name: "perf fp", line: "perf record -q -e cpu-clock -F 999 -a -g -o $dir/record.data sleep $seconds"},
			{name: "perf dwarf", line: "perf record -q -e cpu-clock -F 999 -a --call-graph dwarf -z -o $dir/record.data sleep $seconds"},
		},
		compare: []comparison{
			{what: "record --no-symbols of a host that compiles: against perf record --call-graph dwarf -z", unit: "s", own: "ringtap without names", peer: "perf dwarf", most: 1},
			{what: "with the names of functions, which perf looks up when it reports", unit: "s", own: "ringtap", peer: "perf dwarf", most: -1},
			{what: "the same: size of the file", unit: "KiB", own: "ringtap: size", peer: "perf dwarf: size", most: 0.1},
			{what: "with frame pointers, without names: against perf record -g", unit: "s", own: "ringtap fp", peer: "perf fp", most: 1},
		},
	},
	{
		name: "report",
		read: []reading{{"", cpu}, {"peak", peak}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap report $dir/perf.data", try: makeRecording},
			{name: "perf", line: "perf report --stdio --no-inline -i $dir/perf.data"},
			{name: "perf flat", line: "perf report --stdio --no-inline --no-children -g none -i $dir/perf.data"},
		},
		compare: []comparison{
			{what: "report of a million samples: against perf report", unit: "s", own: "ringtap", peer: "perf", most: 0.1},
			{what: "the same: peak memory", unit: "MiB", own: "ringtap: peak", peer: "perf: peak", most: 0.5},
			{what: "the same: against perf report --no-children -g none", unit: "s", own: "ringtap", peer: "perf flat", most: -1},
		},
	},
	{
		name: "report", // to folded stacks
		read: []reading{{"", cpu}, {"peak", peak}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap flame --out $dir/report.folded $dir/perf.data", try: makeRecording},
			{name: "perf script", line: "sh -c 'perf script --no-inline -i $dir/perf.data $collapse > $dir/report.script'"},
		},
		compare: []comparison{
			{what: "a million samples to folded stacks: against perf script", unit: "s", own: "ringtap", peer: "perf script", most: 0.025},
			{what: "the same: peak memory", unit: "MiB", own: "ringtap: peak", peer: "perf script: peak", most: 0.5},
		},
	},
}

// makeRecording makes the recording, once.
const makeRecording = "sh -c 'test -s $dir/perf.data || perf record -q -F 20000 -e cpu-clock -a -g -o $dir/perf.data -- timeout 30 go build -a -o /dev/null std; test -s $dir/perf.data'"
