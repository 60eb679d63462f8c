package output

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/profile"
)

func viewText(t *testing.T, p *profile.Profile, opts ViewOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteView(&b, p, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// shares is a profile whose shares are plain: 50 ms in spin, of them 10 by way of retry;
// 30 in copy, which the kernel does; 20 in main itself.
func shares() *profile.Profile {
	p := &profile.Profile{
		Collector: "on-cpu", Event: "cpu-clock",
		Start:    time.Date(2024, 4, 10, 8, 53, 55, 0, time.FixedZone("", -5*3600)),
		Duration: time.Second,
		Metrics: []profile.Metric{
			{Name: "OnCPUTime", Unit: "nanoseconds", Scale: 1000_000, Running: true},
			{Name: "OffCPUCount", Unit: "counts", Scale: 1},
		},
		Objects:   []profile.Object{{Path: "[kernel]", Kernel: true}, {Path: "/usr/bin/busy"}},
		Processes: []profile.Process{{PID: 7, Comm: "busy"}},
	}
	for _, name := range []string{"_start", "main", "spin", "retry", "read"} {
		p.Frames = append(p.Frames, profile.Frame{Object: 1, Name: name})
	}
	p.Frames = append(p.Frames, profile.Frame{Object: 0, Name: "copy"})
	p.Stacks = []profile.Stack{
		{Frames: []int{0, 1, 2}}, {Frames: []int{0, 1, 3, 2}}, {Frames: []int{0, 1, 4}}, {Frames: []int{0, 1}}, {Frames: []int{5}},
	}
	p.Rows = []profile.Row{
		{User: 0, Kernel: profile.None, Values: []uint64{40, 0}},
		{User: 1, Kernel: profile.None, Values: []uint64{10, 0}},
		{User: 2, Kernel: 4, Values: []uint64{30, 6}},
		{User: 3, Kernel: profile.None, Values: []uint64{20, 1}},
	}
	return p
}

func TestTheViewHasEachFunctionsSelfAndTotal(t *testing.T) {
	const want = `on-cpu: 100 ms on-CPU, 7 waits in 1 s from 2024-04-10T08:53:55-05:00

 SELF          TOTAL          WAITS  FUNCTION
50 ms  50.0%   50 ms   50.0%      0  spin (busy)
30 ms  30.0%   30 ms   30.0%      0  copy ([kernel])
20 ms  20.0%  100 ms  100.0%      1  main (busy)

 SHARE      TOTAL  CALL TREE
100.0%     100 ms  busy → _start → main [self 20.0%]
 40.0%      40 ms  ├─ spin
 30.0%      30 ms  ├─ read → copy
 10.0%      10 ms  └─ retry → spin
Calls below 0.5% are not shown; --out FILE.html has them all.
`
	if got := viewText(t, shares(), ViewOptions{TableOptions: TableOptions{Top: 10, Width: 80}}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTheViewHasTheKernelsCountOfCPUTimeBesideTheSamples(t *testing.T) {
	p := shares()
	p.CPUTime = 143_200_000
	if got := viewText(t, p, ViewOptions{}); !strings.HasPrefix(got, "on-cpu: 100 ms on-CPU (143 ms by the kernel's count), 7 waits in 1 s") {
		t.Errorf("got\n%s", got)
	}
}

func TestTheViewShowsAsManyFunctionsAsWereAskedFor(t *testing.T) {
	got := viewText(t, shares(), ViewOptions{TableOptions: TableOptions{Top: 1, Width: 80}})
	if !strings.Contains(got, "spin (busy)") || strings.Contains(got, "main (busy)") || !strings.Contains(got, "and 2 more functions (50.0%); -o sets how many are shown") {
		t.Errorf("got\n%s", got)
	}
}

func TestTheViewShowsOneKindOfStack(t *testing.T) {
	got := viewText(t, shares(), ViewOptions{TableOptions: TableOptions{User: true, Width: 80}})
	if strings.Contains(got, "copy") || !strings.Contains(got, "30 ms  30.0%   30 ms   30.0%      6  read (busy)") {
		t.Errorf("got\n%s", got)
	}
}

// Recursion counts once in a function's total.
func TestTheViewCountsARecursiveFunctionOnce(t *testing.T) {
	p := shares()
	p.Stacks[0].Frames = []int{0, 1, 2, 2, 2}
	if got := viewText(t, p, ViewOptions{}); !strings.Contains(got, "50 ms  50.0%   50 ms   50.0%      0  spin (busy)") {
		t.Errorf("got\n%s", got)
	}
}

func TestTheViewColorsWhatIsHotIfAllowed(t *testing.T) {
	p := shares()
	if got := viewText(t, p, ViewOptions{}); strings.Contains(got, "\x1b") {
		t.Errorf("colors that nobody allowed: %q", got)
	}
	colored := viewText(t, p, ViewOptions{Color: true})
	if !strings.Contains(colored, "\x1b[31m50.0%\x1b[0m") || !strings.Contains(colored, "\x1b[1mbusy\x1b[0m → _start") {
		t.Errorf("got %q", colored)
	}
}

func TestTheViewFitsTheTerminal(t *testing.T) {
	for _, width := range []int{80, 120, 200} {
		for seed := range uint64(4) {
			p := forest(seed, 300)
			for i := range p.Frames {
				p.Frames[i].Name += strings.Repeat("::inner", i%30)
			}
			got := viewText(t, p, ViewOptions{TableOptions: TableOptions{Top: 10, Width: width}})
			for line := range strings.Lines(got) {
				if w := twwidth.Width(strings.TrimSuffix(line, "\n")); w > width {
					t.Errorf("line of %d columns on a terminal of %d: %s", w, width, line)
				}
			}
			if lines := strings.Count(got, "\n"); lines > 4*10+3*20 {
				t.Errorf("%d lines of 300 rows:\n%s", lines, got)
			}
		}
	}
}

// A chain of any length takes three lines, and the calls that are left out are counted.
func TestALongChainIsFolded(t *testing.T) {
	calls := func(user, kernel int) (calls []call) {
		for i := range user {
			calls = append(calls, call{fmt.Sprintf("function%02d", i), false})
		}
		for i := range kernel {
			calls = append(calls, call{fmt.Sprintf("kernel%02d", i), true})
		}
		return calls
	}
	for _, test := range []struct {
		user, kernel int
		begin, end   string
	}{
		{100, 0, "function00 → … ", " → function98 → function99 [self 5%]"},
		{100, 9, "function00 → … ", " → function99 → … 7 more … → kernel07 → kernel08 [self 5%]"},
		{0, 100, "kernel00 → … ", " → kernel99 [self 5%]"},
		{2, 1, "function00 → function01", " → kernel00 [self 5%]"},
	} {
		lines := foldChain(calls(test.user, test.kernel), " [self 5%]", 62, 3)
		text := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
		if len(lines) > 3 || !strings.HasPrefix(text, test.begin) || !strings.HasSuffix(text, test.end) {
			t.Errorf("%d and %d calls: %q", test.user, test.kernel, lines)
		}
		told := strings.Count(text, "function") + strings.Count(text, "kernel")
		for _, m := range regexp.MustCompile(`… (\d+) more …`).FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(m[1])
			told += n
		}
		if told != test.user+test.kernel {
			t.Errorf("%d calls are told of, want %d: %q", told, test.user+test.kernel, lines)
		}
	}
}

// However long both stacks are, the line between sleeper and waker stays.
func TestTheLineBetweenSleeperAndWakerIsNeverFolded(t *testing.T) {
	var calls []call
	for i := range 40 {
		calls = append(calls, call{fmt.Sprintf("sleeper%02d", i), i > 20})
	}
	calls = append(calls, call{wokenBy, false})
	for i := range 40 {
		calls = append(calls, call{fmt.Sprintf("waker%02d", i), i < 20})
	}
	for _, width := range []int{0, 40, 62, 120} {
		lines := foldChain(calls, "", width, 3)
		text := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
		if strings.Count(text, wokenBy) != 1 || width > 0 && (len(lines) > 6 || !strings.Contains(text, "sleeper39 → -- → ")) {
			t.Errorf("width %d: %q", width, lines)
		}
	}
}

func joined(calls []call) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.name)
	}
	return strings.Join(names, ",")
}

// Where several collectors ran, a function that is hot for any of them is among the first.
func TestTheViewOfSeveralCollectorsRanksByTheBestShare(t *testing.T) {
	p := shares()
	p.Rows[2].Values = []uint64{0, 6} // read only waits, in copy
	opts := ViewOptions{TableOptions: TableOptions{Top: 1, Width: 80}}
	if got := viewText(t, p, opts); !strings.Contains(got, "  spin (busy)") {
		t.Errorf("got\n%s", got)
	}
	p.Collector = "on-cpu off-cpu"
	got := viewText(t, p, opts)
	if !strings.Contains(got, "  read (busy)") || !strings.Contains(got, "Shares are of OnCPUTime; --metric shows another column.") {
		t.Errorf("got\n%s", got)
	}
	opts.Metric = "OnCPUTime"
	if got := viewText(t, p, opts); !strings.Contains(got, "  spin (busy)") || strings.Contains(got, "--metric") {
		t.Errorf("got\n%s", got)
	}
}

func TestTheNamesOfProcessesStayWhole(t *testing.T) {
	p := shares()
	p.Processes[0].Comm = "migration/0"
	if got := viewText(t, p, ViewOptions{TableOptions: TableOptions{Width: 80}}); !strings.Contains(got, "migration/0 → _start") {
		t.Errorf("got\n%s", got)
	}
}

// Two files of one name, such as before and after an update, are one to a person.
func TestFunctionsOfOneNameAreOne(t *testing.T) {
	p := shares()
	p.Objects = append(p.Objects, profile.Object{Path: "/old/busy"})
	p.Frames = append(p.Frames, profile.Frame{Object: 2, Name: "spin"})
	p.Stacks[1].Frames = []int{0, 1, len(p.Frames) - 1} // was by way of retry
	got := viewText(t, p, ViewOptions{TableOptions: TableOptions{Top: 10, Width: 80}})
	if !strings.Contains(got, "50 ms  50.0%   50 ms   50.0%      0  spin (busy)") || strings.Count(got, "spin") != 2 {
		t.Errorf("got\n%s", got)
	}
}

func TestARecursionIsFolded(t *testing.T) {
	if got := joined(repeated([]call{{"main", false}, {"walk", false}, {"walk", false}, {"walk", false}, {"leaf", false}, {"walk", false}})); got != "main,walk ×3,leaf,walk" {
		t.Errorf("got %q", got)
	}
}

func TestTheViewEscapesWhatProcessesSay(t *testing.T) {
	got := viewText(t, hostile(), ViewOptions{TableOptions: TableOptions{Width: 80}})
	if strings.ContainsAny(got, "\x1b\r\u202e\u2028\u0085") {
		t.Errorf("raw control characters in %q", got)
	}
}

func TestTheViewOfNothingIsItsTotals(t *testing.T) {
	p := shares()
	p.Rows = nil
	if got := viewText(t, p, ViewOptions{}); got != "on-cpu: 0 ns on-CPU in 1 s from 2024-04-10T08:53:55-05:00\n" {
		t.Errorf("got %q", got)
	}
}

func TestLabelsStandBeforeTheFunctions(t *testing.T) {
	p := shares()
	p.Objects = append(p.Objects, profile.Object{Path: "[files]", Labels: true})
	p.Frames = append(p.Frames, profile.Frame{Object: 2, Name: "[/etc/hosts]"})
	p.Stacks[2].Frames = append(p.Stacks[2].Frames, len(p.Frames)-1)
	got := viewText(t, p, ViewOptions{TableOptions: TableOptions{User: true}})
	if !strings.Contains(got, "TOTAL         WHAT\n30 ms  30.0%  [/etc/hosts]\n") || !strings.Contains(got, "  read (busy)") {
		t.Errorf("got\n%s", got)
	}
}

// What is above the line between a sleeper and its waker is the waker's.
func TestAWakerIsNoLabel(t *testing.T) {
	p := shares()
	p.Objects = append(p.Objects, profile.Object{Path: "[labels]", Labels: true})
	for _, name := range []string{wokenBy, "busy", "[interrupt]"} {
		p.Frames = append(p.Frames, profile.Frame{Object: 2, Name: name})
		p.Stacks[2].Frames = append(p.Stacks[2].Frames, len(p.Frames)-1)
	}
	got := viewText(t, p, ViewOptions{TableOptions: TableOptions{User: true}})
	if !strings.Contains(got, "WHAT\n30 ms  30.0%  [interrupt]\n\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestTheTreeLeavesOutThePathOfGoPackages(t *testing.T) {
	for name, want := range map[string]string{
		"cmd/compile/internal/ssa.Compile":          "ssa.Compile",
		"sync/atomic.(*Pointer[go.shape.a/b]).Load": "atomic.(*Pointer[go.shape.a/b]).Load",
		"ns::operator/(int)":                        "ns::operator/(int)",
		"main.f":                                    "main.f",
		"[unknown] (/a/b)":                          "[unknown] (/a/b)",
	} {
		if got := shortName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

// The view, what follows it and a prompt are on one screen, and so is the whole table of functions.
func TestTheViewFitsTheScreen(t *testing.T) {
	for _, height := range []int{24, 40, 60} {
		for _, below := range []int{0, 1, 4} {
			for seed := range uint64(4) {
				p := forest(seed, 300)
				got := viewText(t, p, ViewOptions{TableOptions: TableOptions{Top: 10, Width: 80}, Height: height, Below: below})
				if lines := strings.Count(got, "\n"); lines > height-1-below {
					t.Errorf("%d lines and %d more and a prompt on a screen of %d:\n%s", lines, below, height, got)
				}
				if functions := strings.Count(strings.Split(got, "\n\n")[1], "\n"); functions < 5 {
					t.Errorf("%d lines of functions on a screen of %d:\n%s", functions, height, got)
				}
				if !strings.Contains(got, "are not shown; a pipe (| less) has more, --out FILE.html all.\n") {
					t.Errorf("nothing says where the rest is:\n%s", got)
				}
			}
		}
	}
}

// Who asks for a number of functions gets that many, on any screen.
func TestTheViewShowsTheFunctionsThatWereAskedForOnALowScreen(t *testing.T) {
	opts := ViewOptions{TableOptions: TableOptions{Top: 3, Width: 80}, Height: 10, Exact: true}
	if got := viewText(t, shares(), opts); !strings.Contains(got, "main (busy)") {
		t.Errorf("got\n%s", got)
	}
}

// interpretedShares is a profile of Python: 40 in the interpreter's own code below work, 30 in
// work's call of an extension, 20 in the C library, 10 in the kernel, and 5 before any Python
// function.
func interpretedShares() *profile.Profile {
	p := shares()
	p.Metrics = p.Metrics[:1]
	p.Objects = []profile.Object{{Path: "[kernel]", Kernel: true}, {Path: "/usr/bin/python3.11"}, {Path: "[CPython 3.11.2]", Runtime: "CPython 3.11.2"},
		{Path: "/usr/lib/numpy.so"}, {Path: "/usr/lib/libc.so.6"}}
	p.Frames = []profile.Frame{
		{Object: 1, Name: "_start"}, {Object: 2, Name: "work", Lines: []profile.Line{{Function: "work", File: "/srv/app/job.py", Line: 3}}},
		{Object: 1, Name: "PyLong_Add"}, {Object: 3, Name: "matmul"}, {Object: 4, Name: "memcpy"}, {Object: 0, Name: "page_fault"},
	}
	p.Stacks = []profile.Stack{{Frames: []int{0, 1, 2}}, {Frames: []int{0, 1, 2, 3}}, {Frames: []int{0, 1, 2, 4}}, {Frames: []int{0, 1, 2}}, {Frames: []int{5}}, {Frames: []int{0}}}
	p.Rows = nil
	for i, value := range []uint64{40, 30, 20} {
		p.Rows = append(p.Rows, profile.Row{User: i, Kernel: profile.None, Values: []uint64{value}})
	}
	p.Rows = append(p.Rows, profile.Row{User: 3, Kernel: 4, Values: []uint64{10}}, profile.Row{User: 5, Kernel: profile.None, Values: []uint64{5}})
	return p
}

// What an interpreter runs counts for the interpreted function, as the time of native code does
// for the native function.
func TestInterpretedFunctionsAreInTheFunctionTable(t *testing.T) {
	for _, test := range []struct {
		name    string
		running bool
		want    map[string]uint64
	}{
		{"CPU time", true, map[string]uint64{"work (app/job.py)": 40, "matmul": 30, "memcpy": 20, "page_fault": 10, "_start": 5}},
		{"waits", false, map[string]uint64{"work (app/job.py)": 70, "matmul": 30, "_start": 5}},
	} {
		p := interpretedShares()
		p.Metrics[0].Running = test.running
		got := map[string]uint64{}
		for _, h := range hottest(p, 0, 10, false) {
			got[h.function.name] = h.count
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	if got := viewText(t, interpretedShares(), ViewOptions{}); !strings.Contains(got, "  work (app/job.py)\n") {
		t.Errorf("the file is not enough to name an interpreted function:\n%s", got)
	}
}

func TestFewSamplesAreSaidToBeFew(t *testing.T) {
	for _, test := range []struct {
		period            time.Duration
		received, leftOut uint64
		want              string
	}{
		{time.Second / 49, 7, 0, "note: the shares are rough: they come from 7 samples only; -f 999 takes more\n"},
		{time.Second / 49, 120, 21, "note: the shares are rough: they come from 99 samples only; -f 999 takes more\n"},
		{time.Second / 999, 1, 0, "note: the shares are rough: they come from 1 sample only; a longer run takes more\n"},
		{time.Second / 49, 100, 0, ""},
		{time.Second / 49, 3, 3, ""},
		{0, 7, 0, ""}, // each is one event
	} {
		p := &profile.Profile{Period: test.period, Accounts: []profile.Account{{Event: "cpu-clock", Received: test.received, LeftOut: test.leftOut}}}
		for _, write := range []func(io.Writer, *profile.Profile, int) error{WriteBrief, WriteAccounts} {
			var b bytes.Buffer
			if err := write(&b, p, 0); err != nil {
				t.Fatal(err)
			}
			if _, got, _ := strings.Cut(b.String(), "\n"); got != test.want {
				t.Errorf("%d samples of %v: %q, want %q", test.received, test.period, got, test.want)
			}
		}
	}
}

// The brief account has every number that is missing from the report, and no details.
func TestTheBriefAccountIsOneLineOfAllEvents(t *testing.T) {
	p := &profile.Profile{
		Accounts: []profile.Account{
			{Event: "a", Received: 2000, Lost: 3, LeftOut: 4, Stacks: 2000, Truncated: 5, Early: 5, Joined: 9},
			{Event: "b", Received: 1000, Lost: 4, Stacks: 1000, Truncated: 2, Broken: 30, Unmapped: 12, Unknown: 8},
		},
		Notes: []string{"do this"}, Details: []string{"you can't"},
	}
	var b bytes.Buffer
	if err := WriteBrief(&b, p, 0); err != nil {
		t.Fatal(err)
	}
	const want = "2 events: 3000 samples received, 7 lost (0.233%), 7 stacks cut short (0.2%), 30 stacks without outermost callers (1%), 12 samples outside known mappings (0.4%), 8 frames without a name\n" +
		"note: do this\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	b.Reset()
	p.Accounts[0].Exact, p.Accounts[0].Counted = true, 2010 // 7 are nowhere
	if err := WriteBrief(&b, p, 0); err != nil || !strings.Contains(b.String(), ", the kernel counted 3014, ") {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// At 80 columns io shows the bytes read and written, the time and the calls, with whole names; the
// columns of TOTAL give way. No number is apart from its unit in the first line.
func TestTheViewOfIOHasReadsWritesAndTimeAt80Columns(t *testing.T) {
	p := waits()
	p.Collector = "io"
	p.Metrics = []profile.Metric{
		{Name: "IOSize", Unit: "bytes", Scale: 1}, {Name: "IOCount", Unit: "counts", Scale: 1}, {Name: "IOTime", Unit: "nanoseconds", Scale: 1},
		{Name: "IOErrors", Unit: "counts", Scale: 1}, {Name: "IORead", Unit: "bytes", Scale: 1}, {Name: "IOWritten", Unit: "bytes", Scale: 1},
	}
	p.Rows = []profile.Row{
		{User: 0, Kernel: profile.None, Values: []uint64{12345678, 1234567, 23456789, 0, 2345678, 10000000}},
		{User: 1, Kernel: profile.None, Values: []uint64{1345678, 1234, 123456789, 0, 345678, 1000000}},
	}
	const want = `io: 13.1 MiB moved, 1235801 calls, 147 ms in calls, 2.57 MiB read,
10.5 MiB written in 1 s

    SELF             READ   WRITTEN     TIME    CALLS  FUNCTION
11.8 MiB  90.2%  2.24 MiB  9.54 MiB  23.5 ms  1234567  nap (busy)
1.28 MiB   9.8%   338 KiB   977 KiB   123 ms     1234  fetch (busy)
`
	got := viewText(t, p, ViewOptions{TableOptions: TableOptions{Top: 10, Width: 80}})
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The first table of io says who moves the bytes: the processes, those of one name together, and
// what they read and write if the rows are split by that.
func TestTheViewOfIOSaysWhoReadsAndWrites(t *testing.T) {
	p := shares()
	p.Collector, p.Who = "io", "PROCESS"
	p.Metrics = []profile.Metric{{Name: "IOSize", Unit: "bytes", Scale: 1}, {Name: "IORead", Unit: "bytes", Scale: 1}, {Name: "IOWritten", Unit: "bytes", Scale: 1}}
	p.Processes = []profile.Process{{PID: 7, TGID: 7, Comm: "cp"}, {PID: 8, TGID: 8, Comm: "cc"}, {PID: 9, TGID: 9, Comm: "cc"}}
	p.Objects = append(p.Objects, profile.Object{Path: "[labels]", Labels: true})
	p.Frames = append(p.Frames, profile.Frame{Object: 2, Name: "[/tmp/a b]"})
	p.Stacks = []profile.Stack{{Frames: []int{0, 1}}, {Frames: []int{0, 1, len(p.Frames) - 1}}}
	p.Rows = []profile.Row{
		{Process: 0, User: 0, Kernel: profile.None, Values: []uint64{60, 10, 50}}, {Process: 1, User: 0, Kernel: profile.None, Values: []uint64{15, 0, 15}},
		{Process: 2, User: 0, Kernel: profile.None, Values: []uint64{15, 15, 0}}, {Process: 2, User: 1, Kernel: profile.None, Values: []uint64{10, 0, 10}},
	}
	const want = `
TOTAL         READ  WRITTEN  PROCESS
 60 B  60.0%  10 B     50 B  cp (pid 7)
 30 B  30.0%  15 B     15 B  cc (2 processes)
 10 B  10.0%   0 B     10 B  cc (pid 9) [/tmp/a b]

`
	if got := viewText(t, p, ViewOptions{TableOptions: TableOptions{Top: 10, Width: 80}}); !strings.Contains(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// waits is a profile of two threads that wait and of one of the kernel's.
func waits() *profile.Profile {
	p := shares()
	p.Metrics = []profile.Metric{{Name: "OffCPUTime", Unit: "nanoseconds", Scale: 1}, {Name: "OnCPUTime", Unit: "nanoseconds", Scale: 1, Running: true}}
	p.Objects = append(p.Objects, profile.Object{Path: "/usr/lib/libc.so.6"})
	frame := func(object int, name string) int {
		p.Frames = append(p.Frames, profile.Frame{Object: object, Name: name})
		return len(p.Frames) - 1
	}
	nap, fetch, sleep, read := frame(1, "nap"), frame(1, "fetch"), frame(2, "nanosleep"), frame(2, "read")
	wait, schedule, work := frame(0, "do_nanosleep"), frame(0, "__schedule"), frame(0, "worker_thread")
	p.Stacks = []profile.Stack{{Frames: []int{0, 1, nap, sleep}}, {Frames: []int{0, 1, fetch, read}}, {Frames: []int{wait, schedule}}, {Frames: []int{work, schedule}}}
	p.Rows = []profile.Row{
		{User: 0, Kernel: 2, Values: []uint64{100, 1}}, {User: 1, Kernel: 2, Values: []uint64{50, 2}},
		{User: profile.None, Kernel: 3, Values: []uint64{7, 3}}, {User: 1, Kernel: profile.None, Values: []uint64{0, 4}},
	}
	return p
}
