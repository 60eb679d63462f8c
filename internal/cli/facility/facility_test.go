package facility

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
)

func TestUsedIsTheFirstChoiceThatIsThere(t *testing.T) {
	gone := errors.New("gone")
	for _, test := range []struct {
		choices []Choice
		want    int
	}{
		{nil, 0},
		{[]Choice{{"a", nil}, {"b", nil}}, 0},
		{[]Choice{{"a", gone}, {"b", nil}}, 1},
		{[]Choice{{"a", gone}, {"b", gone}}, 2},
	} {
		need := Need{choices: test.choices}
		if got := need.used(); got != test.want {
			t.Errorf("Used of %v = %d, want %d", test.choices, got, test.want)
		}
	}
}

// The kernel's own configuration is the truth that the probing has to find.
func TestLiveProbesAgreeWithTheKernelsConfiguration(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: an ordinary user is refused what the kernel has")
	}
	config, needs := kernelConfig(t), Needs()
	for _, test := range []struct{ facility, option string }{
		{"uprobe PMU", "CONFIG_UPROBE_EVENTS"},
		{"uprobe_events", "CONFIG_UPROBE_EVENTS"},
		{"kprobe PMU", "CONFIG_KPROBE_EVENTS"},
		{"kprobe_events", "CONFIG_KPROBE_EVENTS"},
		{"event probe", "CONFIG_EPROBE_EVENTS"},
		{"fprobe events", "CONFIG_FPROBE_EVENTS"},
		{"hist triggers", "CONFIG_HIST_TRIGGERS"},
		{"synthetic events", "CONFIG_SYNTH_EVENTS"},
		{"function profiler", "CONFIG_FUNCTION_PROFILER"},
		{"graph tracer, shared", "CONFIG_FUNCTION_GRAPH_TRACER"},
		{"BTF", "CONFIG_DEBUG_INFO_BTF"},
		{"cpu-clock", "CONFIG_PERF_EVENTS"},
		{"kallsyms", "CONFIG_KALLSYMS"},
		{"perf_event controller", "CONFIG_CGROUP_PERF"},
	} {
		built := bytes.Contains(config, []byte("\n"+test.option+"=y\n"))
		for _, need := range needs {
			i := slices.IndexFunc(need.choices, func(c Choice) bool { return c.facility == test.facility })
			if i >= 0 && (need.choices[i].err == nil) != built {
				t.Errorf("%s: %s is %v, but %s is built in: %t", need.what, test.facility, need.choices[i].err, test.option, built)
			}
		}
	}
}

func kernelConfig(t *testing.T) []byte {
	f, err := os.Open("/proc/config.gz")
	if err != nil {
		text, err := os.ReadFile("/boot/config-" + newHost().release())
		if err != nil {
			t.Skip("/proc/config.gz, /boot/config: the kernel does not show its configuration")
		}
		return text
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
