package main

// Command lines of tools that count the calls of a function by user stack. ringtap's still
// needs the function, and perf's has $event.
const (
	ringtapByStack = "$ringtap probe --count -u -i 3600 --out $out " // one report, at the end
	perfByStack    = "perf record -q -a -g -c 1 -e $event -o $out"
)

// userProbes compare probes on functions of libc.
var userProbes = []measurement{
	{
		name:     "malloc", // counted by stack
		workload: hitsProgram, probe: "-x $libc --add $event=malloc", pinned: true,
		alone: mallocFree, ready: probed, under: mallocFree, read: []reading{beyond("")},
		tools: []tool{
			{name: "ringtap", line: ringtapByStack + "libc:malloc"},
			{name: "bpftrace", line: "bpftrace -e 'uprobe:$libc:malloc { @[ustack] = count(); }'"},
			{name: "perf record -g", line: perfByStack},
		},
		compare: []comparison{
			{what: "a hit on malloc, counted by stack: against bpftrace", unit: "ns", own: "ringtap", peer: "bpftrace", most: 1},
			{what: "a hit on malloc, counted by stack: against perf record -g", unit: "ns", own: "ringtap", peer: "perf record -g", most: 0.75},
		},
	},
	{
		name:     "free", // the kernel single-steps its first instruction; ringtap avoids that
		workload: hitsProgram, probe: "-x $libc --add $event=free", pinned: true,
		alone: mallocFree, ready: probed, under: mallocFree, read: []reading{beyond("")},
		tools: []tool{
			{name: "ringtap", line: "$ringtap funccount libc:free"},
			{name: "bpftrace", line: "bpftrace -e 'uprobe:$libc:free { @ = count(); }'", slower: stepped},
			{name: "perf stat", line: "perf stat -a -e $event", slower: stepped},
		},
		compare: []comparison{
			{what: "a hit on free, counted: against bpftrace", unit: "ns", own: "ringtap", peer: "bpftrace", most: 0.2},
			{what: "a hit on free, counted: against perf stat", unit: "ns", own: "ringtap", peer: "perf stat", most: 0.2},
		},
	},
	{
		name:     "free",
		workload: hitsProgram, probe: "-x $libc --add $event=free", pinned: true,
		alone: mallocFree, ready: probed, under: mallocFree, read: []reading{beyond("")},
		tools: []tool{
			{name: "ringtap", line: ringtapByStack + "libc:free"},
			{name: "bpftrace", line: "bpftrace -e 'uprobe:$libc:free { @[ustack] = count(); }'", slower: stepped},
			{name: "perf record -g", line: perfByStack, slower: stepped},
		},
		compare: []comparison{
			{what: "a hit on free, counted by stack: against bpftrace", unit: "ns", own: "ringtap", peer: "bpftrace", most: 0.2},
			{what: "a hit on free, counted by stack: against perf record -g", unit: "ns", own: "ringtap", peer: "perf record -g", most: 0.2},
		},
	},
	{
		name:     "hist", // of the times of calls: a probe at the entry and one at the return
		workload: hitsProgram, pinned: true,
		alone: mallocFree, ready: probed, under: mallocFree, read: []reading{beyond("")},
		tools: []tool{
			{name: "ringtap", line: "$ringtap hist libc:malloc"},
			{name: "bpftrace", line: "bpftrace -e 'uprobe:$libc:malloc { @start[tid] = nsecs; } " +
				"uretprobe:$libc:malloc /@start[tid]/ { @ = hist(nsecs - @start[tid]); delete(@start[tid]); }'"},
		},
		compare: []comparison{
			{what: "the time of a call of malloc, as a histogram: against bpftrace", unit: "ns", own: "ringtap", peer: "bpftrace", most: 1},
		},
	},
	{
		name:     "memleak", // all memory that is not free, by stack
		workload: hitsProgram, pinned: true,
		alone: mallocFree, ready: probed, under: mallocFree, read: []reading{beyond("")},
		tools: []tool{
			{name: "ringtap", line: "$ringtap memleak -p $pid -i 3600"},
			// What bcc's memleak does: by address, what malloc returned and free did not get.
			{name: "bpftrace", slower: stepped, line: "bpftrace -e 'uprobe:$libc:malloc /pid == $pid/ { @size[tid] = arg0; } " +
				"uretprobe:$libc:malloc /@size[tid]/ { @bytes[retval] = @size[tid]; @stack[retval] = ustack; delete(@size[tid]); } " +
				"uprobe:$libc:free /pid == $pid/ { delete(@bytes[arg0]); delete(@stack[arg0]); }'"},
			// It compiles against the kernel's headers, which may be missing or may not fit.
			{name: "bcc's memleak", slower: stepped, line: "memleak-bpfcc -p $pid 3600", try: "memleak-bpfcc -p $pid 1 1"},
		},
		compare: []comparison{
			{what: "malloc and free under memleak: against bpftrace", unit: "ns", own: "ringtap", peer: "bpftrace", most: 1},
			{what: "malloc and free under memleak: against bcc's memleak", unit: "ns", own: "ringtap", peer: "bcc's memleak", most: 1},
		},
	},
	{
		name:     "lost", // of the calls at full speed
		workload: hitsProgram, probe: "-x $libc --add $event=malloc", pinned: true,
		ready: probed, under: fullSpeed(10), read: []reading{{"", lost}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap probe --count -u -i 3600 -p $pid --out $out libc:malloc", count: folded},
			{name: "perf record -g", line: "perf record -g -c 1 -p $pid -e $event -o $out", count: captured},
			{name: "trace_pipe", line: "sh -c '" + tracePipe + "'", count: readEvents, clean: removeInstance, try: "perf version"},
		},
		compare: []comparison{
			{what: "lost of $hits hits", unit: "events", own: "ringtap"},
			{what: "lost of $hits hits: perf record -g", unit: "events", peer: "perf record -g", most: -1},
			{what: "lost of $hits hits: trace_pipe", unit: "events", peer: "trace_pipe", most: -1},
		},
	},
	{
		name:     "probe-cpu", // CPU seconds of a tool, from its start to stacks
		workload: hitsProgram, probe: "-x $libc --add $event=malloc", pinned: true,
		ready: probed, under: fullSpeed(2), read: []reading{{"", perMillion}},
		tools: []tool{
			{name: "ringtap", line: ringtapByStack + "libc:malloc", count: folded},
			{name: "perf record and script", line: "perf record -a -g -c 1 -e $event -o $out", count: captured, read: []reading{{"", scriptedPerMillion}}},
		},
		compare: []comparison{
			{what: "a million hits on malloc, CPU to stacks: against perf record and script", unit: "s", own: "ringtap", peer: "perf record and script", most: 0.1},
		},
	},
	{
		name:     "armed", // from spawning a tool to the first hit that it counts
		workload: hitsProgram, ready: unprobed, under: ticking, read: []reading{{"", firstCounted}},
		tools: []tool{
			{name: "ringtap", line: "$ringtap uprobe 'p:$group libc:a64l'", count: eventLines},
			{name: "bpftrace", line: "bpftrace -e 'uprobe:$libc:a64l { @ = count(); }'", count: mapCount},
			{name: "perf-tools' uprobe", line: "$perftools/user/uprobe 'p:$group libc:a64l'", count: eventLines, clean: removeUprobes},
		},
		compare: []comparison{
			{what: "start to first hit on libc: against bpftrace", unit: "ms", own: "ringtap", peer: "bpftrace", most: 0.1},
			{what: "start to first hit on libc: against perf-tools' uprobe", unit: "ms", own: "ringtap", peer: "perf-tools' uprobe", most: -1},
		},
	},
	{
		name:     "pressure", // from an alarm to the first event recorded
		workload: squeezed, ready: launched, under: alarms,
		read: []reading{{"on", reaction(func(r reacted) int64 { return r.on })}, {"first", reaction(func(r reacted) int64 { return r.first })}},
		tools: []tool{
			{name: "ringtap", line: onAlarm},
			{name: "ringtap --before", line: onAlarm + " --before 5"}, // keeps recent samples all the time
		},
		compare: []comparison{
			{what: "from an alarm of pressure until events are on", unit: "ms", own: "ringtap: on", most: -1},
			{what: "from an alarm of pressure to the first event", unit: "ms", own: "ringtap: first", most: -1},
			{what: "from an alarm of pressure until events are on, with --before 5", unit: "ms", own: "ringtap --before: on", most: -1},
			{what: "from an alarm of pressure to the first event, with --before 5", unit: "ms", own: "ringtap --before: first", most: -1},
		},
	},
}

// stepped is the factor by which tools get fewer calls if the kernel must single-step
// their probe.
const stepped = 5

const onAlarm = "$ringtap probe --count -u -v -i 0.2 -p $pid -T '" + squeeze + "' t:syscalls:sys_enter_read"

// tracePipe reads the hits of one thread as text, in its own tracing instance. Its result is the
// kernel's statistics of what was read there.
const tracePipe = `mkdir $tracefs/instances/$group && cd $tracefs/instances/$group || exit
echo "common_pid == $pid" >events/$group/hit/filter
(trap "" INT; exec cat trace_pipe >/dev/null) &
trap : INT
echo 1 >events/$group/hit/enable
wait
while cat per_cpu/*/stats | grep entries: | grep -qv ": 0$"; do sleep 0.05; done
echo 0 >events/$group/hit/enable
cat per_cpu/*/stats >$out
kill $!
wait`

// removeInstance removes the tracing instance of tracePipe. It retries for five seconds,
// because the instance can be removed only when nobody reads it any more.
const removeInstance = "sh -c 'for i in $(seq 500); do rmdir $tracefs/instances/$group 2>/dev/null; " +
	"[ -d $tracefs/instances/$group ] || exit 0; sleep 0.01; done; echo the tracing instance stays >&2; exit 1'"

// removeUprobes removes what perf-tools' uprobe leaves behind when it is killed: its probe, and
// its lock. uprobe clears the kernel's shared trace buffer, and refuses to run if another
// perf-tools script holds the lock.
const removeUprobes = "sh -c 'cd $tracefs; if [ -d events/uprobes/$group ]; then " +
	`echo 0 >events/uprobes/$group/enable; echo "-:uprobes/$group" >>uprobe_events; fi; ` +
	`[ "$(cat $lock 2>/dev/null)" != $tool ] || rm $lock'`
