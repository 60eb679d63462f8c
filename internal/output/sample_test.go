package output

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/profile"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// sample is a small profile that has one of everything: kernel frames, an
// unknown frame, inlined lines, a truncated stack, an empty one, two processes
// of one name, losses and a note.
func sample() *profile.Profile {
	return &profile.Profile{
		Collector: "on-cpu",
		Event:     "cpu-clock",
		Command:   "ringtap on-cpu -d 5",
		Host:      "builder",
		Start:     time.Date(2024, 4, 10, 8, 53, 55, 0, time.UTC),
		Duration:  5 * time.Second,
		Period:    20408163,
		Metrics:   []profile.Metric{{Name: "OnCPUTime", Type: "samples", Unit: "nanoseconds", Scale: 20408163, Running: true}},
		Objects: []profile.Object{
			{Path: "[kernel]", Kernel: true, HasFunctions: true},
			{Path: "/usr/bin/worker", BuildID: "0123456789abcdef", HasFunctions: true, HasLines: true, HasInlines: true},
			{Path: "/usr/lib/libfoo.so", BuildID: "fedcba98"},
		},
		Frames: []profile.Frame{
			{Object: 1, Address: 0x1025, Name: "_start", RawName: "_start", Offset: 0x25, Start: 0x1000},
			{Object: 1, Address: 0x1115, Name: "main", RawName: "main", Offset: 0x15, Start: 0x1100, Lines: []profile.Line{
				{Function: "square", File: "/src/math.h", Line: 7, Start: 6},
				{Function: "main", File: "/src/worker.c", Line: 21, Start: 18},
			}},
			{Object: 1, Address: 0x1230, Name: "ns::work(int)", RawName: "_ZN2ns4workEi", Offset: 0x30, Start: 0x1200, Lines: []profile.Line{
				{Function: "ns::work(int)", File: "/src/work.cc", Line: 40, Start: 33},
			}},
			{Object: 2, Address: 0x1234},
			{Object: 0, Address: 0xffffffff81000010, Name: "do_syscall_64", RawName: "do_syscall_64", Offset: 0x10, Start: 0xffffffff81000000},
			{Object: 0, Address: 0xffffffff81200042, Name: "vfs_read", RawName: "vfs_read", Offset: 0x42, Start: 0xffffffff81200000},
		},
		Stacks: []profile.Stack{
			{Frames: []int{0, 1, 2}},
			{Frames: []int{4, 5}},
			{Frames: []int{0, 1, 3}},
			{Frames: []int{2}, Truncated: true},
			{},
			{Frames: []int{0, 1}},
		},
		Processes: []profile.Process{
			{PID: 4242, NSPID: 1, TGID: 4242, Comm: "worker", Cgroup: "/system.slice/worker.service"},
			{PID: 17, NSPID: 17, TGID: 17, Comm: "kworker/0:1", Cgroup: "/"},
			{PID: 4243, NSPID: 2, TGID: 4243, Comm: "worker", Cgroup: "/system.slice/worker.service"},
		},
		Rows: []profile.Row{
			{Process: 0, User: 0, Kernel: profile.None, Values: []uint64{120}},
			{Process: 0, User: 5, Kernel: 1, Values: []uint64{31}},
			{Process: 0, User: 0, Kernel: 1, Values: []uint64{5}},
			{Process: 1, User: profile.None, Kernel: 1, Values: []uint64{9}},
			{Process: 2, User: 2, Kernel: 4, Values: []uint64{17}},
			{Process: 2, User: 3, Kernel: profile.None, Values: []uint64{2}},
			{Process: 2, User: 0, Kernel: profile.None, Values: []uint64{1}},
		},
		Accounts: []profile.Account{
			{Event: "cpu-clock", Received: 185, Lost: 3, Throttled: 1, Stacks: 185, Truncated: 2, Early: 1, Broken: 1, Unknown: 1},
		},
		Notes: []string{"kernel symbols are those of the running kernel"},
	}
}

// evil holds what a process can name itself and its functions to do harm.
const evil = "</script><script>alert(1)</script>;\x1b[31m\r\n\t\u202e\u2028\u0085\xff\xfe&\"'\\ 7"

// hostile is a profile in which every string is evil.
func hostile() *profile.Profile {
	p := sample()
	p.Collector, p.Event, p.Command, p.Host = evil, evil, evil, evil
	p.Metrics[0].Name = evil
	p.Notes[0] = evil
	p.Accounts[0].Event = evil
	for i := range p.Objects {
		p.Objects[i].Path = "/" + evil
		p.Objects[i].BuildID = evil
	}
	for i := range p.Frames {
		f := &p.Frames[i]
		f.Name += evil
		f.RawName += evil
		for n := range f.Lines {
			f.Lines[n].Function += evil
			f.Lines[n].File += evil
		}
	}
	p.Frames[3].Name = ""
	for i := range p.Processes {
		p.Processes[i].Comm = evil
		p.Processes[i].Cgroup = evil
	}
	return p
}

// forest makes a profile of a given number of stacks, deep and branching as
// real ones are, the same for the same seed.
func forest(seed uint64, stacks int) *profile.Profile {
	r := rand.New(rand.NewPCG(seed, 1))
	p := sample()
	p.Frames, p.Stacks, p.Rows, p.Accounts, p.Notes = nil, nil, nil, nil, nil
	p.Metrics = append(p.Metrics, profile.Metric{Name: "Switches", Type: "switches", Unit: "counts", Scale: 1})
	for i := range max(stacks/10, 20) {
		f := profile.Frame{Object: 1 + i%2, Address: uint64(4096 + 64*i), Offset: 4, Start: uint64(4092 + 64*i)}
		if i%50 != 49 {
			f.Name = "pkg" + strconv.Itoa(i%37) + "::function" + strconv.Itoa(i)
			f.RawName = f.Name
		}
		if i%11 == 10 {
			f.Object = 0
		}
		p.Frames = append(p.Frames, f)
	}
	path := []int{0}
	for i := range stacks {
		path = path[:1+r.IntN(len(path))]
		for n := 1 + r.IntN(12); n > 0 && len(path) < 60; n-- {
			path = append(path, r.IntN(len(p.Frames)))
		}
		p.Stacks = append(p.Stacks, profile.Stack{Frames: append([]int(nil), path...), Truncated: r.IntN(100) == 0})
		value := uint64(r.ExpFloat64() * 20)
		p.Rows = append(p.Rows, profile.Row{Process: r.IntN(len(p.Processes)), User: i, Kernel: profile.None,
			Values: []uint64{value, uint64(r.IntN(5))}})
		if r.IntN(3) == 0 {
			p.Rows[i].Kernel = r.IntN(i + 1)
		}
	}
	return p
}

// total is the truth that the sums of every form are held against.
func total(p *profile.Profile, metric int) (sum uint64) {
	for i := range p.Rows {
		sum += p.Rows[i].Values[metric]
	}
	return sum
}
