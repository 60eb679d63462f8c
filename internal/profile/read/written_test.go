package read

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/profile"
)

// written is a profile that has one of everything that internal/output writes.
func written() *profile.Profile {
	return &profile.Profile{
		Collector: "on-cpu",
		Event:     "cpu-clock",
		Command:   "ringtap on-cpu -d 5",
		Host:      "builder",
		Start:     time.Date(2024, 4, 10, 8, 53, 55, 0, time.UTC),
		Duration:  5 * time.Second,
		Period:    20408163,
		Metrics: []profile.Metric{
			{Name: "OnCPUTime", Type: "samples", Unit: "nanoseconds", Scale: 20408163, Running: true},
			{Name: "Hits", Type: "percent", Unit: "percent", Share: &profile.Share{Missing: 0, Whole: 2}},
			{Name: "Size", Type: "size", Unit: "bytes", Scale: 4096},
		},
		Objects: []profile.Object{
			{Path: "[kernel]", Kernel: true, HasFunctions: true},
			{Path: "/usr/bin/worker", BuildID: "0123456789abcdef", HasFunctions: true, HasLines: true, HasInlines: true},
			{Path: "/usr/lib/libfoo.so", BuildID: "fedcba98"},
			{Path: "[nf_conntrack]", Kernel: true},
			{Path: "[anon]", Runtime: "HotSpot 17"},
			{Path: "wakers", Labels: true},
			{Path: "marks", Labels: true, Marks: true},
			{},
		},
		Frames: []profile.Frame{
			{Object: 1, Address: 0x1025, Return: true, Name: "_start", RawName: "_start", Offset: 0x25, Start: 0x1000},
			{Object: 1, Address: 0x1115, Name: "main", RawName: "main", Offset: 0x15, Start: 0x1100, Lines: []profile.Line{
				{Function: "max<int>", File: "/src/math.h", Line: 3, Start: 2},
				{Function: "square", File: "/src/math.h", Line: 7, Start: 6},
				{Function: "main", File: "/src/worker.c", Line: 21, Start: 18},
			}},
			{Object: 1, Address: 0x1230, Name: "ns::work(int; char)", RawName: "_ZN2ns4workEi", Offset: 0x30, Start: 0x1200},
			{Object: 2, Address: 0x1234},
			{Object: 0, Address: 0xffffffff81000010, Name: "do_syscall_64", RawName: "do_syscall_64", Offset: 0x10, Start: 0xffffffff81000000},
			{Object: 3, Address: 0xffffffffc0000010},
			{Object: 4, Address: 0x7f0000001000, Name: "Main.run", RawName: "Main.run", Lines: []profile.Line{{Function: "Main.run", File: "src/app/Main.java", Line: 3, Start: 1}}},
			{Object: 5, Name: "--"},
			{Object: 6, Name: "[interpreted functions read late]"},
			{Object: 7, Address: 0x55},
			{Object: 2, Address: 0x3efc84, Name: "libfoo.so+0x3efc80", Unnamed: true, Offset: 4, Start: 0x3efc80},
			{Object: 0, Address: 0xffffffff81200042},
		},
		Stacks: []profile.Stack{
			{Frames: []int{0, 1, 2}},
			{Frames: []int{4, 5}},
			{Frames: []int{0, 1, 3}},
			{Frames: []int{2}, Truncated: true},
			{Frames: []int{11}, Truncated: true},
			{Frames: []int{0, 6, 8, 9, 10}},
			{Frames: []int{0, 4, 7, 0, 4}},
		},
		Processes: []profile.Process{
			{PID: 4242, NSPID: 1, TGID: 4242, Comm: "worker", Cgroup: "/system.slice/worker.service"},
			{PID: 17, NSPID: 17, TGID: 17, Comm: "kworker/0:1", Cgroup: "/"},
			{PID: 4243, NSPID: 2, TGID: 4243, Comm: "#worker 3"},
			{PID: 4244, NSPID: 2, TGID: 4244},
		},
		Rows: []profile.Row{
			{Process: 0, User: 0, Kernel: profile.None, Values: []uint64{120, 0, 1}},
			{Process: 0, User: 2, Kernel: 1, Values: []uint64{31, 0, 2}},
			{Process: 1, User: profile.None, Kernel: 1, Values: []uint64{9, 0, 3}},
			{Process: 2, User: 3, Kernel: 4, Values: []uint64{2, 0, 0}},
			{Process: 2, User: 5, Kernel: profile.None, Values: []uint64{1, 0, 5}},
			{Process: 2, User: 6, Kernel: profile.None, Values: []uint64{7, 0, 6}},
			{Process: 3, User: profile.None, Kernel: profile.None, Values: []uint64{3, 0, 7}},
			{Process: 3, User: profile.None, Kernel: 4, Values: []uint64{4, 0, 8}},
		},
		Accounts: []profile.Account{
			{Event: "cpu-clock", Received: 177, Lost: 3, Throttled: 1, Stacks: 177, Truncated: 2, Early: 1, Broken: 1, Unknown: 1, Counted: 180, Exact: true},
		},
		Notes: []string{"kernel symbols are those of the running kernel"},
	}
}

// grown is written with many random stacks.
func grown(seed uint64) *profile.Profile {
	p := written()
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 200 {
		f := profile.Frame{Object: r.IntN(len(p.Objects)), Address: uint64(i), Name: fmt.Sprintf("f%d", i%150)}
		if r.IntN(5) == 0 && !p.Objects[f.Object].Labels {
			f.Name = ""
		}
		p.Frames = append(p.Frames, f)
	}
	for range 300 {
		s := profile.Stack{Truncated: r.IntN(20) == 0}
		for range 1 + r.IntN(20) {
			s.Frames = append(s.Frames, r.IntN(len(p.Frames)))
		}
		p.Stacks = append(p.Stacks, s)
		p.Rows = append(p.Rows, profile.Row{Process: r.IntN(len(p.Processes)), User: len(p.Stacks) - 1, Kernel: r.IntN(len(p.Stacks)+1) - 1,
			Values: []uint64{r.Uint64N(50), 0, r.Uint64N(9)}})
	}
	return p
}

// write writes p in the form of an extension.
func write(t testing.TB, p *profile.Profile, ending string, opts output.FileOptions) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p"+ending)
	if err := output.WriteFile(path, p, opts); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func read(t testing.TB, text []byte) *profile.Profile {
	t.Helper()
	p, err := Profile("p", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// foldedText is what profiles are compared by: the stacks and the values of a metric.
func foldedText(t testing.TB, p *profile.Profile, metric string) string {
	t.Helper()
	var b strings.Builder
	if err := output.WriteFolded(&b, p, output.FileOptions{Metric: metric, Inlines: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func profiles() map[string]*profile.Profile {
	return map[string]*profile.Profile{"written": written(), "grown": grown(1), "other": grown(2)}
}

func TestFoldedStacksThatRingtapWroteAreReadAsTheyWere(t *testing.T) {
	for name, p := range profiles() {
		for _, metric := range []string{"OnCPUTime", "Size"} {
			text := foldedText(t, p, metric)
			if diff := cmp.Diff(text, foldedText(t, read(t, []byte(text)), "")); diff != "" {
				t.Errorf("%s, %s (-written +read):\n%s", name, metric, diff)
			}
		}
	}
}

func TestPprofThatRingtapWroteHasTheSameStacksAndSums(t *testing.T) {
	for name, p := range profiles() {
		got := read(t, write(t, p, ".pb.gz", output.FileOptions{}))
		p.Objects[4].Runtime = "" // pprof does not know which frames are a runtime's
		for metric, theirs := range map[string]string{"OnCPUTime": "samples", "Size": "size"} {
			want, scale := foldedText(t, p, metric), uint64(1)
			if metric == "Size" {
				scale = 4096 // pprof has base units
			}
			for i := range got.Rows {
				for m := range got.Metrics {
					if got.Metrics[m].Name == theirs {
						got.Rows[i].Values[m] /= scale
					}
				}
			}
			if diff := cmp.Diff(want, foldedText(t, got, theirs)); diff != "" {
				t.Errorf("%s, %s (-written +read):\n%s", name, metric, diff)
			}
		}
		var cpu, samples uint64
		for i := range got.Rows {
			cpu += got.Rows[i].Values[0]
			samples += got.Rows[i].Values[1]
		}
		if got.Metrics[0].Name != "cpu" || got.Metrics[0].Unit != "nanoseconds" || cpu != samples*uint64(p.Period) {
			t.Errorf("%s: %d of %+v for %d samples of %d ns", name, cpu, got.Metrics[0], samples, p.Period)
		}
		if !got.Start.Equal(p.Start) || got.Duration != p.Duration || got.Period != p.Period {
			t.Errorf("%s: from %v for %v, period %v", name, got.Start, got.Duration, got.Period)
		}
	}
}

func TestJSONThatRingtapWroteIsWrittenAgainAsItWas(t *testing.T) {
	for name, p := range profiles() {
		p.Metrics = append(p.Metrics[:1], p.Metrics[2]) // shares are left out, see below
		for i := range p.Rows {
			p.Rows[i].Values = append(p.Rows[i].Values[:1], p.Rows[i].Values[2])
		}
		text := write(t, p, ".json", output.FileOptions{})
		got := read(t, text)
		if diff := cmp.Diff(string(text), string(write(t, got, ".json", output.FileOptions{}))); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
		if diff := cmp.Diff(foldedText(t, p, ""), foldedText(t, got, "")); diff != "" {
			t.Errorf("%s, stacks (-written +read):\n%s", name, diff)
		}
		if got.Metrics[0] != p.Metrics[0] {
			t.Errorf("%s: metric %+v, want %+v", name, got.Metrics[0], p.Metrics[0])
		}
	}
}

func TestSharesInJSONAreLeftOut(t *testing.T) {
	got := read(t, write(t, written(), ".json", output.FileOptions{}))
	if len(got.Metrics) != 2 || got.Metrics[1].Name != "Size" || len(got.Rows[0].Values) != 2 || got.Rows[0].Values[1] != 1 {
		t.Errorf("metrics %+v, values %v", got.Metrics, got.Rows[0].Values)
	}
}
