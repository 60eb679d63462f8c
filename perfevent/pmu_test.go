package perfevent

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	perf "github.com/elastic/go-perf"
)

func testDevices() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	return fstest.MapFS{
		"cpu/type":                  file("4"),
		"cpu/format/event":          file("config:0-7,32-35"),
		"cpu/format/umask":          file("config:8-15"),
		"cpu/format/edge":           file("config:18"),
		"cpu/format/ldlat":          file("config1:0-15"),
		"cpu/format/all":            file("config2:0-63"),
		"cpu/format/far":            file("config9:0-3"),
		"cpu/format/odd":            file("config:7-3"),
		"cpu/format/none":           file("config"),
		"cpu/events/cache-misses":   file("event=0x2e,umask=0x41"),
		"cpu/events/broken":         file("event=zz"),
		"uprobe/type":               file("9"),
		"uprobe/format/retprobe":    file("config:0"),
		"kprobe/type":               file("8"),
		"kprobe/format/retprobe":    file("config:0"),
		"broken/type":               file("many"),
		"uncore_imc/format/ignored": file("config:0"),
	}
}

func TestDynamicSpreadsTermsOverTheConfigurationWords(t *testing.T) {
	tests := []struct {
		pmu   string
		terms []string
		want  perf.Attr
	}{
		{"cpu", nil, perf.Attr{Type: 4, Label: "cpu//"}},
		{"cpu", []string{"event=0x3c", "umask=1"}, perf.Attr{Type: 4, Config: 0x13c, Label: "cpu/event=0x3c,umask=1/"}},
		{"cpu", []string{"event=0xabc"}, perf.Attr{Type: 4, Config: 0xa000000bc, Label: "cpu/event=0xabc/"}},
		{"cpu", []string{"cache-misses", "edge"}, perf.Attr{Type: 4, Config: 0x4412e, Label: "cpu/cache-misses,edge/"}},
		{"cpu", []string{"cache-misses", "umask=2"}, perf.Attr{Type: 4, Config: 0x22e, Label: "cpu/cache-misses,umask=2/"}},
		{"cpu", []string{"ldlat=30", "all=0xffffffffffffffff"},
			perf.Attr{Type: 4, Config1: 30, Config2: 1<<64 - 1, Label: "cpu/ldlat=30,all=0xffffffffffffffff/"}},
		{"uprobe", []string{"retprobe"}, perf.Attr{Type: 9, Config: 1, Label: "uprobe/retprobe/"}},
	}
	for _, tt := range tests {
		got, err := dynamic(testDevices(), tt.pmu, tt.terms)
		if err != nil {
			t.Errorf("%s %v: %v", tt.pmu, tt.terms, err)
		} else if got.attr != tt.want {
			t.Errorf("%s %v = %+v, want %+v", tt.pmu, tt.terms, got.attr, tt.want)
		}
	}
}

func TestDynamicSaysWhatIsWrong(t *testing.T) {
	tests := []struct {
		pmu, term, want string
	}{
		{"gpu", "", "this kernel has broken, cpu, kprobe, uncore_imc, uprobe"},
		{"../cpu", "", "not a PMU's name"},
		{"broken", "", "read its type"},
		{"cpu", "cycles", "the PMU's events are broken, cache-misses, its fields all,"},
		{"cpu", "event=0x1000", "does not fit"},
		{"cpu", "event=ten", "invalid syntax"},
		{"cpu", "event=", "invalid syntax"},
		{"cpu", "../type", "not a name"},
		{"cpu", "far", "config9 cannot be set"},
		{"cpu", "odd", `bad bits "7-3"`},
		{"cpu", "none", "has no bits"},
		{"cpu", "broken", "event broken"},
	}
	for _, tt := range tests {
		var terms []string
		if tt.term != "" {
			terms = []string{tt.term}
		}
		_, err := dynamic(testDevices(), tt.pmu, terms)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s/%s/ gives %v, want an error with %q", tt.pmu, tt.term, err, tt.want)
		}
		if isAbsent := errors.Is(err, ErrNoEvent); isAbsent != (tt.pmu == "gpu") {
			t.Errorf("%s/%s/: is ErrNoEvent: %v", tt.pmu, tt.term, isAbsent)
		}
	}
}
