package pressure

import (
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

func TestATriggerIsReadAsItIsWritten(t *testing.T) {
	for _, test := range []struct {
		text string
		want Trigger
	}{
		{"memory some 150000 2000000", Trigger{Resource: "memory", Threshold: 150 * time.Millisecond, Window: 2 * time.Second}},
		{"io  full\t1 500000", Trigger{Resource: "io", Full: true, Threshold: time.Microsecond, Window: 500 * time.Millisecond}},
		{"cpu@/sys/fs/cgroup/a.slice full 10000000 10000000",
			Trigger{Resource: "cpu", Place: "/sys/fs/cgroup/a.slice", Full: true, Threshold: 10 * time.Second, Window: 10 * time.Second}},
		{"irq full 1000 2000000", Trigger{Resource: "irq", Full: true, Threshold: time.Millisecond, Window: 2 * time.Second}},
	} {
		got, err := Parse(test.text)
		if err != nil || got != test.want {
			t.Errorf("%q reads as %+v, %v", test.text, got, err)
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q: %v", test.text, got, err)
		}
	}
}

func TestWhatIsWrongWithATriggerIsSaid(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "want 'cpu|memory|io some|full"},
		{"memory some 150000", "is not a trigger"},
		{"memory some 150000 2000000 now", "is not a trigger"},
		{"disk some 1 500000", `no pressure information for "disk": there is cpu, memory, io, irq`},
		{"/proc/pressure/cpu some 1 500000", "no pressure information for"},
		{"cpu@ some 1 500000", "names no directory"},
		{"cpu any 1 500000", "neither some (a task is stalled) nor full (all tasks are)"},
		{"cpu some 0.5 500000", `threshold "0.5" is not a number of microseconds`},
		{"cpu some 1 4294967296", `window "4294967296" is not a number`},
		{"cpu some -1 500000", `threshold "-1"`},
		{"cpu some 499999 499999", "window of 499.999ms: the kernel takes 500ms to 10s, 500000 to 10000000 microseconds"},
		{"cpu some 1 10000001", "window of 10.000001s"},
		{"cpu some 0 500000", "a threshold of zero"},
		// stack_analyzer's own example.
		{"memory some 150000 100000", "the threshold of 150ms is longer than the window of 100ms: give the threshold first, then the window, 500000 to"},
		{"memory some 1500000 1000000", "the threshold of 1.5s is longer than the window of 1s"},
		{"irq some 1 2000000", "only has irq full"},
	} {
		_, err := Parse(test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

func TestATriggerIsOfItsControlGroupUnlessItHasAPlace(t *testing.T) {
	for _, test := range []struct{ place, group, want string }{
		{"", "", "/proc/pressure/io"},
		{"", "/sys/fs/cgroup/a", "/sys/fs/cgroup/a/io.pressure"},
		{"/sys/fs/cgroup/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup/b/io.pressure"},
		{"/proc/pressure/", "/sys/fs/cgroup/a", "/proc/pressure/io"},
	} {
		if got := (Trigger{Resource: "io", Place: test.place}).Within(test.group).file(); got != test.want {
			t.Errorf("%q within %q is %s, want %s", test.place, test.group, got, test.want)
		}
	}
}

func TestTheTriggerThatAnybodyMayHaveIsOfTheSameShare(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"memory some 150000 1000000", "memory some 300000 2000000"},
		{"cpu some 500000 500000", "cpu some 2000000 2000000"},
		{"io full 900000 9000000", "io full 1000000 10000000"},
		{"io full 100000 5000000", "io full 120000 6000000"},
	} {
		trigger, err := Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		ordinary := trigger.ordinary()
		if got := ordinary.String(); got != test.want || ordinary.validate() != nil {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
	}
}

func TestTheTimeStalledIsRead(t *testing.T) {
	const text = "some avg10=29.17 avg60=31.06 avg300=24.08 total=8999157657\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
	for _, test := range []struct {
		kind string
		want time.Duration
	}{{"some", 8999157657 * time.Microsecond}, {"full", 7 * time.Microsecond}} {
		if got, err := parseTotal(text, test.kind); err != nil || got != test.want {
			t.Errorf("%s: %v, %v", test.kind, got, err)
		}
	}
	for _, broken := range []string{"", "some total=x\n", "some total=-1\n", "some avg10=1\n", "some total=99999999999999999999\n", "some total=9999999999999999\n"} {
		if got, err := parseTotal(broken, "some"); err == nil {
			t.Errorf("%q reads as %v", broken, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	fuzzing.Bound(f)
	f.Add("memory some 150000 2000000")
	f.Add("cpu@/a full 1 500000")
	f.Fuzz(func(t *testing.T, text string) {
		trigger, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(trigger.String()); err != nil || again != trigger {
			t.Errorf("%q is written as %q: %v", text, trigger, err)
		}
		if ordinary := trigger.ordinary(); ordinary.validate() != nil || ordinary.Window%OrdinaryWindow != 0 {
			t.Errorf("%q becomes %q", text, ordinary)
		}
	})
}

func FuzzTotal(f *testing.F) {
	f.Add("some avg10=29.17 avg60=31.06 avg300=24.08 total=8999157657\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := parseTotal(text, "some"); err == nil && got < 0 {
			t.Errorf("%q reads as %v", text, got)
		}
	})
}
