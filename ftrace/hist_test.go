package ftrace_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// As kernel/trace/trace_events_hist.c of Linux 6.1 writes them: two triggers of one
// event, and a key of a power of two.
const histText = `# event histogram
#
# trigger info: hist:keys=common_pid:vals=hitcount:ts0=common_timestamp-1:sort=hitcount:size=16384:clock=global if common_pid != 0 [active]
#

{ common_pid:        231 } hitcount:          3
{ common_pid:        232 } hitcount:       5000

Totals:
    Hits: 5003
    Entries: 2
    Dropped: 7


# event histogram
#
# trigger info: hist:keys=took.log2,prio:vals=hitcount,took:sort=hitcount:size=128 [active]
#

{ took: ~ 2^12                  , prio:        120 } hitcount:          1  took:       4096
{ took: ~ 2^3                   , prio:        120 } hitcount:         20  took:        100

Totals:
    Hits: 21
    Entries: 2
    Dropped: 0
`

func TestHistogramsOfTheKernelAreRead(t *testing.T) {
	got, err := ftrace.ParseHists(histText)
	if err != nil {
		t.Fatal(err)
	}
	want := []ftrace.Hist{
		{
			Trigger: "hist:keys=common_pid:vals=hitcount:ts0=common_timestamp-1:sort=hitcount:size=16384:clock=global if common_pid != 0",
			Entries: []ftrace.HistEntry{
				{Keys: []ftrace.HistKey{{Name: "common_pid", Text: "231"}}, Values: map[string]uint64{"hitcount": 3}},
				{Keys: []ftrace.HistKey{{Name: "common_pid", Text: "232"}}, Values: map[string]uint64{"hitcount": 5000}},
			},
			Hits: 5003, Dropped: 7,
		},
		{
			Trigger: "hist:keys=took.log2,prio:vals=hitcount,took:sort=hitcount:size=128",
			Entries: []ftrace.HistEntry{
				{Keys: []ftrace.HistKey{{Name: "took", Text: "~ 2^12"}, {Name: "prio", Text: "120"}}, Values: map[string]uint64{"hitcount": 1, "took": 4096}},
				{Keys: []ftrace.HistKey{{Name: "took", Text: "~ 2^3"}, {Name: "prio", Text: "120"}}, Values: map[string]uint64{"hitcount": 20, "took": 100}},
			},
			Hits: 21,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n, ok := got[1].Entries[0].Keys[0].Log2(); n != 12 || !ok {
		t.Errorf("the key ~ 2^12 is 2^%d, %v", n, ok)
	}
	if n, ok := got[1].Entries[0].Keys[1].Log2(); ok {
		t.Errorf("the key 120 is 2^%d", n)
	}
}

func TestAHistogramThatMakesNoSenseIsAnError(t *testing.T) {
	const head = "# event histogram\n#\n# trigger info: hist:keys=a [active]\n#\n\n"
	for _, line := range []string{"{ a: 1 hitcount: 3", "{ a } hitcount: 3", "{ a: 1 } hitcount:", "{ a: 1 } hitcount: x", "{ a: 1 } hitcount 3", "    Hits: many", "    Dropped: -1"} {
		if got, err := ftrace.ParseHists(head + line + "\n"); err == nil {
			t.Errorf("line %q is taken: %+v", line, got)
		}
	}
	for _, text := range []string{"", "# event histogram\n", "{ a: 1 } hitcount: 3\n", head} {
		if _, err := ftrace.ParseHists(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseHists(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(histText)
	f.Add("# trigger info: hist:keys=a\n{ a: } b: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		hists, err := ftrace.ParseHists(text)
		if err != nil {
			return
		}
		for _, h := range hists {
			for _, e := range h.Entries {
				for _, k := range e.Keys {
					if n, ok := k.Log2(); ok && (n < 0 || n > 64) {
						t.Errorf("key %q is 2^%d", k.Text, n)
					}
				}
			}
		}
	})
}
