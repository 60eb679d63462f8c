package hist

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/trace/histtrigger"
)

// perf-tools would take vfs_read for the event's name, and count for the function.
func TestLiveHistCountsAParameterAndNotTheTimeOfCalls(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip("CONFIG_DEBUG_INFO_BTF")
	}
	for text, value := range map[string]bool{"p:vfs_read count": true, "vfs_read count": true, "p:vfs_read *pos": true, "p:mine vfs_read": false} {
		spec, err := (&Options{Spec: text}).parse()
		if err != nil || spec.value != value {
			t.Errorf("%s: %+v, %v; a value: %t", text, spec, err, value)
		}
	}
}

func TestASpecificationIsACallOrOneValue(t *testing.T) {
	for _, test := range []struct {
		text, field string
		value       bool
		wrong       string
	}{
		{text: "p:/bin/sh:main"},
		{text: "p:/bin/sh:main $arg1", value: true},
		{text: "t:sched:sched_switch prev_prio", field: "prev_prio", value: true},
		{text: "", wrong: `"" names nothing to measure`},
		{text: "t:sched:sched_switch", wrong: "sched:sched_switch takes no time: add the field to count after the name"},
		{text: "t:sched_switch prev_prio", wrong: `"sched_switch" is not a tracepoint: SYSTEM:EVENT`},
		{text: "t:sched:sched_switch a b", wrong: "t:sched:sched_switch a b: a histogram takes one field"},
		{text: "p:/bin/sh:main $arg1 $arg2", wrong: "p:/bin/sh:main $arg1 $arg2: a histogram takes one argument"},
		{text: "u:/bin/sh:a:b", wrong: "u:/bin/sh:a:b: a USDT probe takes no time; name one of its arguments, such as arg1, to count its values"},
		{text: "p:/bin/sh:main+4", wrong: "p:/bin/sh:main+4: only whole functions can be timed; name an argument to count its values there"},
	} {
		spec, err := (&Options{Spec: test.text}).parse()
		if test.wrong != "" {
			if !errors.As(err, new(*usage.Error)) || err.Error() != test.wrong {
				t.Errorf("%q: %v, want %s", test.text, err, test.wrong)
			}
			continue
		}
		if err != nil || spec.value != test.value || spec.field != test.field {
			t.Errorf("%q: %+v, %v", test.text, spec, err)
		}
	}
}

func TestTheKernelCountsOnlyWhatItsTriggersKnow(t *testing.T) {
	linear, err := histogram.ParseLinear("0,10,1")
	if err != nil {
		t.Fatal(err)
	}
	kernel := &spec{Spec: &probe.Spec{Place: probe.Kernel}}
	plain := func() Options { return Options{Target: &target.Target{}, Unit: "ns", Way: "auto"} }
	for why, test := range map[string]struct {
		change func(*Options)
		spec   *spec
	}{
		"":                                     {func(*Options) {}, kernel},
		"values are counted here":              {func(*Options) {}, &spec{Spec: kernel.Spec, value: true}},
		"the kernel's triggers know no stacks": {func(o *Options) { o.ByStack = true }, kernel},
		"the kernel's triggers count by powers of two":        {func(o *Options) { o.Scale = linear }, kernel},
		"the kernel's triggers count nanoseconds":             {func(o *Options) { o.Unit = "us" }, kernel},
		"the kernel's triggers know no control groups":        {func(o *Options) { o.Target.Cgroup = "/g" }, kernel},
		"a command is followed from its first instruction on": {func(o *Options) { o.Target.Command = []string{"true"} }, kernel},
		"asked for":                          {func(o *Options) { o.Way = "pairs" }, kernel},
		"user functions may call themselves": {func(*Options) {}, &spec{Spec: &probe.Spec{Place: probe.User}}},
	} {
		o := plain()
		test.change(&o)
		if got := o.notInKernel(test.spec); got != why {
			t.Errorf("%q, want %q", got, why)
		}
	}
	o := plain()
	o.Way, o.Spec, o.Unit, o.Logger = "triggers", "p:/bin/sh:main", "us", slog.New(slog.DiscardHandler)
	if err := Run(t.Context(), o); !errors.As(err, new(*usage.Error)) || err.Error() != "--way triggers: the kernel's triggers count nanoseconds" {
		t.Errorf("%v", err)
	}
}

// of is a histogram of some values.
func of(values ...int64) *histogram.Histogram {
	h := histogram.New(histogram.Log2())
	for _, v := range values {
		h.Add(v)
	}
	return h
}

// measured is a window in which two processes called f, at two stacks.
func measured() *profile.Profile {
	return &profile.Profile{
		Start: time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC), Duration: 2 * time.Second,
		Frames: []profile.Frame{{Name: "main"}, {Name: "f\x1b", Offset: 4}, {Name: "g"}},
		Stacks: []profile.Stack{{Frames: []int{0, 1}}, {Frames: []int{0, 2}, Truncated: true}},
		Rows: []profile.Row{
			{User: 0, Kernel: profile.None, Histograms: []*histogram.Histogram{of(1)}},
			{User: 1, Kernel: profile.None, Histograms: []*histogram.Histogram{of(5, 6, 7)}},
			{User: 0, Kernel: profile.None, Histograms: []*histogram.Histogram{of(2)}},
			{User: 0, Kernel: profile.None, Histograms: []*histogram.Histogram{nil}},
		},
	}
}

func TestTheRowsOfAllProcessesAreOneHistogramForEachStack(t *testing.T) {
	var out bytes.Buffer
	p := &printer{&Options{Out: &out, ByStack: true, Top: 10, Unit: "us", Times: true, Duration: 1500 * time.Millisecond},
		&subject{text: "f", functions: []string{"f"}, indexes: []int{0}}}
	if err := errors.Join(p.greet(), p.profiled(measured()), p.leave()); err != nil {
		t.Fatal(err)
	}
	want := "Tracing the time of f for 1.5 seconds...\n\n05:00:02\nf, usecs:\n => f\\x1b+0x4\n => main+0x0\n" + string(of(1, 2).Append(nil)) + "\navg = 1 usecs, total: 3 usecs, count: 2\n" +
		"\nf, usecs:\n => g+0x0\n => main+0x0\n => [truncated]\n" + string(of(5, 6, 7).Append(nil)) + "\navg = 6 usecs, total: 18 usecs, count: 3\n" +
		"\nEnding tracing...\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestOnlyTheTopStacksAreShown(t *testing.T) {
	var out bytes.Buffer
	p := &printer{&Options{Out: &out, ByStack: true, Top: 1, JSON: true, Unit: "ns"}, &subject{text: "f", functions: []string{"f"}, indexes: []int{0}}}
	if err := errors.Join(p.greet(), p.profiled(measured()), p.leave()); err != nil {
		t.Fatal(err)
	}
	var got jsonWindow
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.StacksLeft != 1 || len(got.Histograms) != 1 || got.Histograms[0].Count != 3 || got.Histograms[0].Unit != "ns" || !got.Histograms[0].Cut || len(got.Histograms[0].Stack) != 2 {
		t.Errorf("%s", out.String())
	}
}

func TestAnEmptyWindowOfTheKernelSaysSo(t *testing.T) {
	var out bytes.Buffer
	p := &printer{&Options{Out: &out, Unit: "ns"}, &subject{text: "vfs_read", functions: []string{"vfs_read"}}}
	if err := errors.Join(p.counted(&histtrigger.Window{}), p.counted(&histtrigger.Window{Histogram: of(3)})); err != nil {
		t.Fatal(err)
	}
	want := "\nnothing was counted\n\nvfs_read, nsecs:\n" + string(of(3).Append(nil)) + "\navg = 3 nsecs, total: 3 nsecs, count: 1\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestBucketsWithoutABoundSayNull(t *testing.T) {
	linear, err := histogram.ParseLinear("0,2,1")
	if err != nil {
		t.Fatal(err)
	}
	h := histogram.New(linear)
	h.Add(math.MinInt64)
	h.Add(1)
	h.Add(7)
	buckets := jsonBuckets(h)
	if first, last := buckets[0], buckets[len(buckets)-1]; first.Min != nil || *first.Max != 0 || *last.Min != 2 || last.Max != nil {
		t.Errorf("%+v", buckets)
	}
}

func TestTheTimesOfAllRowsAreWrittenBelowAReport(t *testing.T) {
	scale := histogram.Log2()
	timed := calls.NewCalls("libc:malloc", nil, stack.Stacks{})
	timed.Histogram = &scale
	var out bytes.Buffer
	if err := WriteTimes(&out, measured(), []table.Collector{timed}); err != nil {
		t.Fatal(err)
	}
	want := "\nlibc:malloc, nsecs:\n" + string(of(1, 2, 5, 6, 7).Append(nil)) + "\navg = 4 nsecs, total: 21 nsecs, count: 5\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}
