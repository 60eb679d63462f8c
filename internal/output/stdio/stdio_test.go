package stdio

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/profile"
)

// period is the period of each sample of testdata/known.folded.
const period = 1001001

// recorded returns the profile of testdata/known.folded.
func recorded(t *testing.T) *profile.Profile {
	t.Helper()
	text, err := os.ReadFile("testdata/known.folded")
	if err != nil {
		t.Fatal(err)
	}
	p := &profile.Profile{
		Metrics: []profile.Metric{{Name: "cpu-clock", Scale: 1}, {Name: "cpu-clock samples", Scale: 1}},
		Objects: []profile.Object{{Path: "[kernel]", Kernel: true}, {Path: "/usr/lib/x86_64-linux-gnu/libc.so.6"},
			{Path: "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"}, {Path: "/tmp/known_stacks"}, {Path: "[labels]", Labels: true}},
		Processes: []profile.Process{{PID: 7, NSPID: 7, TGID: 7, Comm: "known_stacks"}},
	}
	frames := make(map[string]int)
	frame := func(object int, name string) int {
		i, ok := frames[name]
		if !ok {
			i = len(p.Frames)
			frames[name] = i
			p.Frames = append(p.Frames, profile.Frame{Object: object, Name: name, Start: uint64(16 * i), Address: uint64(16*i + 4)})
		}
		return i
	}
	stack := func(frames []int) int {
		if len(frames) == 0 {
			return profile.None
		}
		p.Stacks = append(p.Stacks, profile.Stack{Frames: frames})
		return len(p.Stacks) - 1
	}
	for line := range strings.Lines(string(text)) {
		chain, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		sum, err := strconv.ParseUint(count, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Split(chain, ";")
		var user, kernel []int
		for _, name := range names[1:] {
			switch short, isKernel := strings.CutSuffix(name, "_[k]"); {
			case isKernel:
				kernel = append(kernel, frame(0, short))
			case strings.HasPrefix(name, "_dl"):
				user = append(user, frame(2, name))
			case strings.HasPrefix(name, "__libc"):
				user = append(user, frame(1, name))
			default:
				user = append(user, frame(3, name))
			}
		}
		leaf := &user
		if kernel != nil {
			leaf = &kernel
		}
		*leaf = append(*leaf, frame(4, names[0]))
		p.Rows = append(p.Rows, profile.Row{User: stack(user), Kernel: stack(kernel), Values: []uint64{sum, sum / period}})
	}
	return p
}

func TestTheTextIsThatOfPerfReport(t *testing.T) {
	chains := func(list string) *Chains {
		c, err := ParseChains(list, Chains{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	keys := []Key{Comm, DSO, Symbol}
	for _, test := range []struct {
		name, options string // of perf report
		with          Options
	}{
		{"children", "--percent-limit 0.4", Options{Children: true, Chains: chains("graph,0.4,caller")}},
		{"callee", "--no-children --percent-limit 0.4", Options{Chains: chains("graph,0.4,callee")}},
		{"flat", "--no-children -g none --percent-limit 0.4", Options{}},
		{"fractal", "-g fractal,1,callee,count --percent-limit 0.4", Options{Children: true, Chains: chains("fractal,1,callee,count")}},
		{"skipped", "--sort sym,comm -n -g graph,0.5,caller,period --percent-limit 0.4",
			Options{Keys: []Key{Symbol, Comm}, Children: true, Samples: true, Chains: chains("graph,0.5,caller,period")}},
		{"separated", "-t ';' -n -g none --percent-limit 0.4", Options{Children: true, Samples: true, Separator: ";"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", test.name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			if test.with.MinPercent = 0.4; test.with.Keys == nil {
				test.with.Keys = keys
			}
			var got bytes.Buffer
			if err := Write(&got, recorded(t), test.with); err != nil {
				t.Fatal(err)
			}
			_, text, _ := strings.Cut(got.String(), "\n")
			if diff := cmp.Diff(strings.SplitAfter(string(want), "\n"), strings.SplitAfter(text, "\n")); diff != "" {
				t.Errorf("perf report %s (-perf +ringtap):\n%s", test.options, diff)
			}
		})
	}
}

// A name with control characters must not reach the terminal.
func TestNamesAreEscaped(t *testing.T) {
	p := recorded(t)
	for i := range p.Frames {
		p.Frames[i].Name += "\x1b[31m"
	}
	p.Objects[3].Path += "\x1b[31m"
	var got bytes.Buffer
	o := Options{Keys: []Key{Comm, DSO, Symbol, Thread}, Threads: map[uint32]string{0: "\x1b[31m"}, Children: true, Chains: &Chains{}}
	if err := Write(&got, p, o); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(got.Bytes(), 0x1b) {
		t.Errorf("%q", got.String())
	}
}

func TestASampleWithoutAnAddressIsUnknown(t *testing.T) {
	p := recorded(t)
	p.Rows = []profile.Row{{User: profile.None, Kernel: profile.None, Values: []uint64{5, 1}}}
	var got bytes.Buffer
	if err := Write(&got, p, Options{Keys: []Key{Comm, DSO, Symbol}, Children: true, Chains: &Chains{Caller: true}}); err != nil {
		t.Fatal(err)
	}
	if want := "   100.00%   100.00%  known_stacks  [unknown]      [.] [unknown]\n\n\n"; !strings.HasSuffix(got.String(), want) {
		t.Errorf("%s", got.String())
	}
}

// Two files with one name: perf adds up their entries, if their functions have one address, and
// keeps their callchains apart.
func TestCallchainsOfTwoFilesWithOneNameAreTwo(t *testing.T) {
	p := recorded(t)
	p.Objects = append(p.Objects, profile.Object{Path: "/other/known_stacks"})
	p.Frames = []profile.Frame{{Object: 3, Name: "f", Start: 16}, {Object: 5, Name: "f", Start: 16}, {Object: 4, Name: "known_stacks"}}
	p.Stacks = []profile.Stack{{Frames: []int{0, 2}}, {Frames: []int{1, 2}}}
	p.Rows = []profile.Row{{User: 0, Kernel: profile.None, Values: []uint64{3, 1}}, {User: 1, Kernel: profile.None, Values: []uint64{1, 1}}}
	var got bytes.Buffer
	if err := Write(&got, p, Options{Keys: []Key{Comm, DSO, Symbol}, Chains: &Chains{MinPercent: 0.5}}); err != nil {
		t.Fatal(err)
	}
	want := "   100.00%  known_stacks  known_stacks   [.] f\n" +
		"            |          \n            |--75.00%--f\n            |          \n             --25.00%--f\n\n\n\n"
	if !strings.HasSuffix(got.String(), want) {
		t.Errorf("%s", got.String())
	}
}

// perf prints an address without a function with 16 digits in an entry, and as short as it is in a
// callchain.
func TestAnAddressWithoutAFunctionIsPrintedAsInPerf(t *testing.T) {
	p := recorded(t)
	p.Frames[0] = profile.Frame{Object: 3, Address: 0x16d92c, Return: true}
	p.Stacks = []profile.Stack{{Frames: []int{0}}}
	p.Rows = []profile.Row{{User: 0, Kernel: profile.None, Values: []uint64{5, 1}}}
	var got bytes.Buffer
	if err := Write(&got, p, Options{Keys: []Key{Symbol}, Chains: &Chains{MinPercent: 0.5, Caller: true}}); err != nil {
		t.Fatal(err)
	}
	if want := "   100.00%  [.] 0x000000000016d92d\n\n\n"; !strings.HasSuffix(got.String(), want) {
		t.Errorf("%s", got.String())
	}
	got.Reset()
	if err := Write(&got, p, Options{Keys: []Key{Comm}, Chains: &Chains{MinPercent: 0.5, Caller: true}}); err != nil {
		t.Fatal(err)
	}
	if want := "            ---0x16d92d\n\n\n\n"; !strings.HasSuffix(got.String(), want) {
		t.Errorf("%s", got.String())
	}
}

func TestParseChains(t *testing.T) {
	byDefault := Chains{Caller: true, MinPercent: 0.5}
	for list, want := range map[string]*Chains{
		"none":                                nil,
		"graph":                               &byDefault,
		"graph,0.5,caller,function,percent":   &byDefault,
		"fractal,5,callee,count":              {Fractal: true, MinPercent: 5, Value: Count},
		"callee,period":                       {MinPercent: 0.5, Value: Period},
		"fractal,callee,graph,caller,2,count": {Caller: true, MinPercent: 2, Value: Count},
	} {
		got, err := ParseChains(list, byDefault)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", list, err, diff)
		}
	}
	for _, list := range []string{"", "folded", "graph,", "graph,-1", "graph,NaN", "address"} {
		if _, err := ParseChains(list, byDefault); err == nil {
			t.Errorf("%q: no error", list)
		}
	}
}

func TestParseKeys(t *testing.T) {
	got, err := ParseKeys("symbol,comm,sym,pid,cpu,dso")
	if want := []Key{Symbol, Comm, Thread, CPU, DSO}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, list := range []string{"", "comm,", "srcline", "tid", "Comm"} {
		if _, err := ParseKeys(list); err == nil {
			t.Errorf("%q: no error", list)
		}
	}
}
