package functrace

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// Durations are those of perf-tools' examples and of the kernel on other
// machines, where the columns are as wide as the kernel makes them.
func TestDurationsAreAsWideAsTheKernels(t *testing.T) {
	g := &graph{options: GraphOptions{Columns: Columns{Duration: true}}}
	for _, test := range []struct {
		nanoseconds uint64
		want        string
	}{
		{61, "  0.061 us    |  "},
		{198, "  0.198 us    |  "},
		{3447, "  3.447 us    |  "},
		{10777, "+ 10.777 us   |  "},
		{356838, "! 356.838 us  |  "},
		{8147120, "# 8147.120 us |  "},
		{12202930, "* 12202.93 us |  "},
		{130649512, "@ 130649.5 us |  "},
		{1000141000, "$ 1000141 us  |  "},
	} {
		if got := string(g.appendDuration(nil, test.nanoseconds)); got != test.want {
			t.Errorf("%d ns: %q; want %q", test.nanoseconds, got, test.want)
		}
	}
}

// The lines are those that Linux 6.1 printed for perf-tools' funcslower -H and
// funcgraph -a.
func TestTheGraphsHeaderIsTheKernels(t *testing.T) {
	for _, test := range []struct {
		columns Columns
		want    string
	}{
		{Columns{Duration: true}, "# tracer: function_graph\n#\n" +
			"# CPU  DURATION                  FUNCTION CALLS\n" +
			"# |     |   |                     |   |   |   |\n"},
		{Columns{Time: true, Task: true, Duration: true}, "# tracer: function_graph\n#\n" +
			"#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n" +
			"#      |          |     |    |           |   |                     |   |   |   |\n"},
	} {
		g := &graph{options: GraphOptions{Columns: test.columns}}
		if got := g.header(""); got != test.want {
			t.Errorf("got\n%swant\n%s", got, test.want)
		}
	}
}

// recordOf makes a record: type, pid, and words behind the common fields.
func recordOf(kind uint16, pid uint32, words ...uint64) []byte {
	b := binary.LittleEndian.AppendUint16(nil, kind)
	b = append(b, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, pid)
	for _, word := range words {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return b
}

// testGraph prints records of Linux 6.1's layout: entry 11 (func, depth), exit
// 10 (func, depth, calltime, rettime).
func testGraph(options GraphOptions) *graph {
	field := func(offset, size int) *ftrace.Field {
		return &ftrace.Field{Offset: offset, Size: size, ElemSize: size}
	}
	symbol := func(addr uint64) (string, uint64, uint64, string, bool) {
		switch addr {
		case 1:
			return "vfs_read", 0, 1, "", true
		case 2:
			return "fsnotify", 0, 1, "", true
		case 3:
			return "tg3_poll", 0, 1, "tg3", true
		case 100:
			return "asm_sysvec", 0, 1, "", true
		}
		return "", 0, 0, "", false
	}
	return &graph{names: newNames(nil, process.Host{Proc: "testdata/proc"}),
		functions: newFunctions(printfmt.Options{KernelSymbol: symbol}), options: options,
		entry: 11, exit: 10, entryFunc: field(8, 8), entryDepth: field(16, 4), exitFunc: field(8, 8), exitDepth: field(16, 4),
		exitCalled: field(24, 8), exitReturns: field(32, 8), irqStart: 100, irqEnd: 101, cpuDigits: 1, cpus: map[int]*graphCPU{},
		unrequested: map[int]bool{}}
}

func entry(pid uint32, function, depth uint64) []byte { return recordOf(11, pid, function, depth) }
func exit(pid uint32, function, depth, duration uint64) []byte {
	return recordOf(10, pid, function, depth, 1000, 1000+duration)
}

func TestAGraphIsPrintedAsTheKernelDoes(t *testing.T) {
	for _, test := range []struct {
		name    string
		options GraphOptions
		records [][]byte
		want    string
	}{
		{"a call in a call", GraphOptions{Columns: Columns{Duration: true}},
			[][]byte{entry(7, 1, 0), entry(7, 2, 1), exit(7, 2, 1, 500), exit(7, 1, 0, 1500)},
			" 0)               |  vfs_read() {\n 0)   0.500 us    |    fsnotify();\n 0)   1.500 us    |  }\n"},
		{"without durations, with tails", GraphOptions{Tail: true},
			[][]byte{entry(7, 3, 0), entry(7, 2, 1), exit(7, 2, 1, 500), exit(7, 3, 0, 1500)},
			" 0) tg3_poll [tg3]() {\n 0)   fsnotify();\n 0) } /* tg3_poll [tg3] */\n"},
		{"an end without its beginning", GraphOptions{Columns: Columns{Duration: true}},
			[][]byte{exit(7, 1, 0, 1500)}, " 0)   1.500 us    |  } /* vfs_read */\n"},
		{"two threads", GraphOptions{Columns: Columns{Duration: true}, Switches: true},
			[][]byte{exit(7, 1, 0, 1500), exit(8, 1, 0, 1500)},
			" 0)   1.500 us    |  } /* vfs_read */\n ------------------------------------------\n 0)   ev\\nil n-7   =>      sh-8     \n ------------------------------------------\n\n 0)   1.500 us    |  } /* vfs_read */\n"},
		{"an interrupt", GraphOptions{Columns: Columns{Duration: true}},
			[][]byte{entry(7, 100, 1), exit(7, 100, 1, 500)},
			" 0)   ==========> |\n 0)   0.500 us    |    asm_sysvec();\n 0)   <========== |\n"},
		{"an interrupt that is passed over", GraphOptions{SkipInterrupts: true, Columns: Columns{Duration: true}},
			[][]byte{entry(7, 100, 1), entry(7, 2, 2), exit(7, 2, 2, 10), exit(7, 100, 1, 500), exit(7, 1, 0, 1500)},
			" 0)   1.500 us    |  } /* vfs_read */\n"},
		{"times and names", GraphOptions{Columns: Columns{Duration: true, Task: true, Time: true}},
			[][]byte{exit(8, 1, 0, 8145268)}, "    0.000002 |   0)      sh-8      | # 8145.268 us |  } /* vfs_read */\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := testGraph(test.options)
			var lines []byte
			for i, record := range test.records {
				var next *ftrace.Entry
				if i+1 < len(test.records) {
					next = &ftrace.Entry{Time: 2001 + uint64(i), Raw: test.records[i+1]}
				}
				lines, _ = g.append(lines, &ftrace.Entry{Time: 2000 + uint64(i), Raw: record}, next)
			}
			if string(lines) != test.want {
				t.Errorf("got\n%swant\n%s", lines, test.want)
			}
		})
	}
}

// The kernel shows calls of threads that were in the function when the recording
// began, or when an earlier graph ended.
func TestAGraphBeginsAtTheFunctionsChosen(t *testing.T) {
	g := testGraph(GraphOptions{Tail: true})
	g.starts = starts{1: true}
	var lines []byte
	for _, record := range [][]byte{
		entry(7, 2, 0), entry(8, 1, 0), entry(7, 3, 1), exit(7, 3, 1, 5), entry(8, 2, 1), exit(8, 2, 1, 5), exit(7, 2, 0, 5), // 7 is astray, 8 is not
		entry(7, 1, 0), exit(8, 1, 0, 5), entry(7, 2, 1), exit(7, 2, 1, 5), exit(7, 1, 0, 5), // 7 has come in by the door
		exit(7, 3, 0, 5), exit(7, 1, 0, 5), // ends whose beginnings were lost
	} {
		lines, _ = g.append(lines, &ftrace.Entry{Raw: record}, nil)
	}
	const want = " 0) vfs_read() {\n 0)   fsnotify() {\n 0)   } /* fsnotify */\n 0) vfs_read() {\n 0) } /* vfs_read */\n" +
		" 0)   fsnotify() {\n 0)   } /* fsnotify */\n 0) } /* vfs_read */\n 0) } /* vfs_read */\n"
	if string(lines) != want {
		t.Errorf("got\n%swant\n%s", lines, want)
	}
}

func TestRecordsThatMakeNoSenseArePrintedSomehow(t *testing.T) {
	for _, raw := range [][]byte{nil, {11, 0}, entry(7, 1, 1<<31), exit(7, 1, 0xffffffff, 5), recordOf(11, 7), recordOf(10, 7, 1)} {
		for _, options := range []GraphOptions{{}, {SkipInterrupts: true, Columns: Columns{Duration: true, Task: true, Time: true}}} {
			lines, _ := testGraph(options).append(nil, &ftrace.Entry{Raw: raw}, &ftrace.Entry{Raw: raw})
			if len(lines) > 10000 {
				t.Errorf("a line of %d bytes", len(lines))
			}
		}
	}
}

func TestWordsThatTheFilterWouldActUponAreRefused(t *testing.T) {
	for word, want := range map[string]string{
		"vfs_read": "vfs_read", "vfs_*": "vfs_*", "ext4:ext4_*": "ext4_*:mod:ext4", "ext4_*:mod:ext4": "ext4_*:mod:ext4", "finish_task_switch.isra.0": "finish_task_switch.isra.0", "*[rw]ead?": "*[rw]ead?",
	} {
		if got, err := filterWords([]string{word}); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, error %v; want %q", word, got, err, want)
		}
	}
	for _, word := range []string{"", " ", "17", "!vfs_read", "vfs_read:", ":x", "vfs_read:traceoff:3", "vfs_read:mod:x:traceoff", "#x", "a;b", "vfs\x00read", "á", strings.Repeat("x", 300)} {
		if got, err := filterWords([]string{word}); err == nil && !strings.Contains(got[0], ":mod:vfs_read") {
			t.Errorf("%q is taken: %q", word, got)
		}
	}
}

func TestANameWithALineBreakIsNoOtherThreadsName(t *testing.T) {
	saved := parseSaved("12 sh\n13 ev\n12 il\n14 a b\n15 <...>\nx\n")
	for tid, want := range map[int]string{12: "", 13: "ev", 14: "a b", 15: ""} {
		if got := string(saved[tid]); got != want {
			t.Errorf("thread %d is called %q; want %q", tid, got, want)
		}
	}
}

func FuzzSavedNames(f *testing.F) {
	f.Add("12 sh\n13 ev\n12 il\n")
	f.Fuzz(func(t *testing.T, text string) { parseSaved(text) })
}

func FuzzRecord(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(entry(7, 1, 0), exit(7, 1, 0, 5))
	f.Add(recordOf(4, 7, 3, 1, 2, 3), recordOf(1, 7, 1, 2))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		g := testGraph(GraphOptions{SkipInterrupts: true, Columns: Columns{true, true, true}})
		c := &calls{names: g.names, functions: g.functions, stacks: true, call: 1, stack: 4, function: g.entryFunc, parent: g.exitCalled,
			stackSize: g.entryDepth, stackCallers: g.entryFunc}
		e, next := &ftrace.Entry{Raw: a}, &ftrace.Entry{Raw: b}
		g.names.saved = map[int][]byte{e.PID(): []byte("x"), next.PID(): []byte("y")}
		g.append(nil, e, next)
		g.append(nil, next, nil)
		c.append(nil, e, next)
	})
}
