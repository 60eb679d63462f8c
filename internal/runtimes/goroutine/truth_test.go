package goroutine

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// TestGoroutinesAreThoseThatTheProgramItselfSees compares with runtime.Stack of
// programs that were built in every way. With -releases, by every Go too.
func TestGoroutinesAreThoseThatTheProgramItselfSees(t *testing.T) {
	type way struct {
		name  string
		env   []string
		flags []string
	}
	ways := []way{
		{"static", []string{"CGO_ENABLED=0"}, nil},
		{"stripped", []string{"CGO_ENABLED=0"}, []string{"-ldflags=-s -w"}},
		{"position independent", []string{"CGO_ENABLED=0"}, []string{"-buildmode=pie"}},
		{"position independent, stripped", []string{"CGO_ENABLED=0"}, []string{"-buildmode=pie", "-ldflags=-s -w"}},
		{"with C", []string{"CGO_ENABLED=1"}, nil},
		{"with C, stripped", []string{"CGO_ENABLED=1"}, []string{"-ldflags=-s -w"}},
		{"position independent, with C, stripped", []string{"CGO_ENABLED=1"}, []string{"-buildmode=pie", "-ldflags=-s -w"}},
		{withoutSections, []string{"CGO_ENABLED=0"}, []string{"-ldflags=-s -w"}},
		{"without optimization", []string{"CGO_ENABLED=0"}, []string{"-gcflags=-N -l"}},
	}
	if *releases {
		for _, r := range toolchains {
			for _, flags := range []string{"", "-s -w"} {
				ways = append(ways, way{r.names[1] + flags, []string{"CGO_ENABLED=0", "GOTOOLCHAIN=" + r.names[1]}, []string{"-ldflags=" + flags}})
			}
		}
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			if _, err := exec.LookPath("gcc"); err != nil && w.env[0] == "CGO_ENABLED=1" {
				t.Skip("gcc is not installed")
			}
			path := buildProgram(t, "park", w.env, w.flags...)
			if w.name == withoutSections {
				path = compiled.Copy(t, path)
				removeSections(t, path)
			}
			compare(t, startProgram(t, path))
		})
	}
}

// Before Go 1.26 only the runtime's table of semaphores says what a goroutine waits for.
func TestLocksAreTheProgramsVariables(t *testing.T) {
	versions := []string{"local"}
	if *releases {
		for _, r := range toolchains {
			versions = append(versions, r.names[1])
		}
	}
	for _, version := range versions {
		p := startProgram(t, buildProgram(t, "park", []string{"CGO_ENABLED=0", "GOTOOLCHAIN=" + version}))
		r := p.runtime(t)
		f, err := elf.Open(fmt.Sprintf("/proc/%d/exe", p.pid))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		all, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		at := func(name string) uint64 {
			return all[slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == name })].Value
		}
		want := map[string]Lock{
			"main.locks":           {Kind: "sync.Mutex", Addr: at("main.mu")},
			"main.locksForReading": {Kind: "sync.RWMutex", Addr: at("main.rw"), Writer: true},
		}
		for _, offset := range []int16{r.layout[gWaiting], absent} {
			r.layout[gWaiting] = offset
			found := make(map[string]int)
			for _, g := range goroutines(t, r) {
				start := p.functions(t, g.start)[0]
				if want, ok := want[start]; ok && strings.HasPrefix(g.WaitReason, "sync.") {
					found[start]++
					if g.Lock != want {
						t.Errorf("%s, offset %d: goroutine %d [%s] waits for %+v, want %+v", version, offset, g.ID, g.State(), g.Lock, want)
					}
				}
			}
			if len(found) != len(want) {
				t.Errorf("%s, offset %d: found %v", version, offset, found)
			}
		}
	}
}

const withoutSections = "stripped, without section headers"

// removeSections clears what the ELF header says about section headers.
func removeSections(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[40:48]) // e_shoff
	clear(b[60:64]) // e_shnum, e_shstrndx
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// compare compares all goroutines but the first, which makes the traceback.
func compare(t *testing.T, p *target) {
	t.Helper()
	got := goroutines(t, p.runtime(t))
	// The first has said that the program is ready, and goes on to read its input.
	for end := time.Now().Add(testlimit.End); !p.reads(t, got[1]); got = goroutines(t, p.runtime(t)) {
		if time.Now().After(end) {
			t.Fatalf("goroutine 1 is %+v, want it to read its input", got[1])
		}
	}
	age := time.Since(p.started)
	want := p.traceback(t)
	if len(want) < 30 {
		t.Fatalf("the program sees %d goroutines", len(want))
	}
	for id, w := range want {
		g := got[id]
		if g == nil {
			t.Errorf("goroutine %d (%s in %v) is missing", id, w.state, w.names)
			continue
		}
		if id == 1 {
			continue
		}
		where := fmt.Sprintf("goroutine %d [%s]", id, w.state)
		if g.State() != w.state {
			t.Errorf("%s is %q", where, g.State())
		}
		if g.System {
			t.Errorf("%s is the runtime's own", where)
		}
		if !g.Known || g.Waited <= 0 || g.Waited > age { // the program has collected its garbage
			t.Errorf("%s has waited %v (%v) of %v", where, g.Waited, g.Known, age)
		}
		compareStack(t, where, p.names(t, g.Frames), g, w)
		if creator := p.functions(t, g.Creator); creator[len(creator)-1] != w.creator && creator[0] != w.creator {
			t.Errorf("%s: created by %v, want %s", where, creator, w.creator)
		}
		if g.Parent != w.parent {
			t.Errorf("%s: created by goroutine %d, want %d", where, g.Parent, w.parent)
		}
	}
	for id, g := range got {
		if want[id] == nil && !g.System {
			t.Errorf("goroutine %d [%s] in %v is not among the program's", id, g.State(), p.names(t, g.Frames))
		}
	}
}

// reads reports whether a goroutine reads the program's input.
func (p *target) reads(t *testing.T, g *Goroutine) bool {
	t.Helper()
	return g != nil && g.Status == "syscall" && g.Thread != 0 && slices.Contains(p.names(t, g.Frames), "main.answers")
}

func compareStack(t *testing.T, where string, names []string, g *Goroutine, w *traced) {
	t.Helper()
	if g.Missing != "" || g.End != callchain.Complete {
		t.Errorf("%s has no whole stack: %q, %v, %v", where, g.Missing, g.End, names)
		return
	}
	want := w.names
	if w.elided || len(want) > 90 { // of many frames Go shows the first fifty and the last, before 1.21 the first hundred
		names, want = names[:min(len(names), 50)], want[:50]
	}
	if !slices.Equal(names, want) {
		t.Errorf("%s is in\n%v, want\n%v", where, names, want)
	}
	if len(want) == 50 && len(g.Frames) < 5000 {
		t.Errorf("%s has %d frames", where, len(g.Frames))
	}
}

func TestAGoroutineThatRunsHasItsThread(t *testing.T) {
	p := startProgram(t, buildProgram(t, "park", []string{"CGO_ENABLED=0"}), "spin")
	r := p.runtime(t)
	for range 100 {
		for _, g := range goroutines(t, r) {
			if p.functions(t, g.start)[0] != "main.spins" || g.Status != "running" {
				continue
			}
			if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", p.pid, g.Thread)); err != nil || len(g.Frames) != 0 || g.Missing != "" {
				t.Errorf("it is %+v: %v", g, err)
			}
			return
		}
	}
	t.Error("a goroutine that always runs was never seen so")
}

func TestNothingIsOddWhileGoroutinesComeAndGo(t *testing.T) {
	for _, flags := range []string{"", "-s -w"} {
		p := startProgram(t, buildProgram(t, "park", []string{"CGO_ENABLED=0"}, "-ldflags="+flags), "churn")
		var parked, moved, all int
		r := p.runtime(t)
		for range 40 {
			n := 0
			for _, g := range goroutines(t, r) {
				all++
				if g.Missing != "" {
					moved++
				}
				if g.System {
					continue
				}
				names := p.names(t, g.Frames)
				start := p.functions(t, g.start)[0]
				if !strings.HasPrefix(start, "main.") && start != "runtime.main" {
					t.Fatalf("goroutine %d was started with %s", g.ID, start)
				}
				if start == "main.receives" || start == "main.sends" {
					n++
					if g.End != callchain.Complete || names[0] != start || len(names) != 1 {
						t.Fatalf("goroutine %d [%s] that was started with %s is in %v", g.ID, g.State(), start, names)
					}
				}
				if len(g.Frames) == 0 || start == "runtime.main" && g.End == callchain.Complete {
					continue
				}
				var all []string
				for _, f := range g.Frames {
					all = append(all, p.functions(t, f)...)
				}
				// One that has returned is in runtime.goexit1.
				if g.End != callchain.Complete || !slices.Contains(all, start) && !slices.Contains(all, "runtime.goexit1") {
					t.Errorf("goroutine %d [%s] that was started with %s is in %v (%v)", g.ID, g.State(), start, all, g.End)
				}
			}
			if parked = n; parked != 6 {
				t.Fatalf("%d of 6 goroutines that wait are there", parked)
			}
		}
		t.Logf("%q: %d goroutines, of which %d were never still", flags, all, moved)
	}
}

// TestStacksAreNeverOfTwoTimes has goroutines that stop at the same place at the same
// depth all the time, but by two ways.
func TestStacksAreNeverOfTwoTimes(t *testing.T) {
	p := startProgram(t, buildProgram(t, "park", []string{"CGO_ENABLED=0"}), "swap", "swap")
	r := p.runtime(t)
	ways := [][]string{{"main.meets", "main.leftInner", "main.leftOuter", "main.swaps"}, {"main.meets", "main.rightInner", "main.rightOuter", "main.swaps"}}
	var seen [2]int
	for range 100 {
		for _, g := range goroutines(t, r) {
			names := p.names(t, g.Frames)
			if len(names) == 0 || names[0] != "main.meets" {
				continue
			}
			way := slices.IndexFunc(ways, func(way []string) bool { return slices.Equal(way, names) })
			if way < 0 || g.End != callchain.Complete {
				t.Fatalf("goroutine %d [%s] is in %v", g.ID, g.State(), names)
			}
			seen[way]++
		}
	}
	if seen[0] == 0 || seen[1] == 0 {
		t.Errorf("both ways were seen %v times", seen)
	}
	t.Log(seen)
}

func TestALibraryWrittenInGoHasItsGoroutines(t *testing.T) {
	program := compiled.Program(t, compiled.Sources(t, "testdata/shared/main.c"), "gcc", "-o", "main", "main.c", "-ldl")
	for _, flags := range []string{"", "-s -w"} {
		library := buildProgram(t, "shared", []string{"CGO_ENABLED=1"}, "-buildmode=c-shared", "-ldflags="+flags)
		p := startProgram(t, program, library)
		n := 0
		for _, g := range goroutines(t, p.runtime(t)) {
			if names := p.names(t, g.Frames); slices.Equal(names, []string{"main.waitsInLibrary"}) && g.State() == "chan receive" {
				n++
			}
		}
		if n != 5 {
			t.Errorf("%q: %d of 5 goroutines are there", flags, n)
		}
	}
}
