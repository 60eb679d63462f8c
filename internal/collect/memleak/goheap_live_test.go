package memleak_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/memleak"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// goLeaks keeps 40 MiB, and as much that is not part of the run. It drops as much again.
const goLeaks = `package main

import (
	"fmt"
	"os"
	"runtime"
)

var kept [][]byte

//go:noinline
func leaks() { kept = append(kept, make([]byte, 1<<20)) }

//go:noinline
func before() { kept = append(kept, make([]byte, 1<<20)) }

//go:noinline
func drops() []byte { return make([]byte, 1<<20) }

func run(f func(), said string) {
	for i := 0; i < 40; i++ {
		f()
		drops()
	}
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
	fmt.Println(said)
	os.Stdin.Read(make([]byte, 1))
}

func main() {
	if len(os.Args) > 1 {
		runtime.MemProfile(nil, true)
	}
	run(before, "ready")
	run(leaks, "done")
}
`

func TestLiveGrowthOfAGoHeapIsShownByFunction(t *testing.T) {
	p, _ := runGoLeaks(t, "profiled", goLeaks, "CGO_ENABLED=0")
	got := make(map[string][2]uint64)
	for i := range p.Rows {
		for _, f := range p.Stacks[p.Rows[i].User].Frames {
			if name := p.Frames[f].Name; strings.HasPrefix(name, "main.") {
				sum := got[name]
				got[name] = [2]uint64{sum[0] + p.Rows[i].Values[0], sum[1] + p.Rows[i].Values[1]}
			}
		}
	}
	// Objects of 1 MiB are sampled with a probability of 86 %, and scaled. The bounds are
	// five standard deviations wide.
	const object = 1 << 20
	if n := got["main.leaks"]; n[1] < 25 || n[1] > 55 || n[0] < 25*object || n[0] > 55*object {
		t.Errorf("main.leaks kept %d bytes in %d objects, want about 40 of %d", n[0], n[1], object)
	}
	for _, name := range []string{"main.before", "main.drops"} {
		if n := got[name]; n[1] > 0 {
			t.Errorf("%s kept %d bytes in %d objects, want none", name, n[0], n[1])
		}
	}
}

func TestLiveAGoHeapWithoutSamplesIsSaidToBeLeftOut(t *testing.T) {
	_, said := runGoLeaks(t, "unprofiled", strings.ReplaceAll(goLeaks, "runtime.MemProfile(nil, true)", ""), "CGO_ENABLED=0")
	if !strings.Contains(said, "Go's heap is not covered, because the program does not record its heap allocations") ||
		!strings.Contains(said, ":runtime.mallocgc -p ") {
		t.Errorf("it says %q", said)
	}
}

// With cgo, Go's runtime maps its heap by libc's mmap, which is probed.
func TestLiveTheHeapOfGoWithCgoIsNotCountedTwice(t *testing.T) {
	p, said := runGoLeaks(t, "withcgo", strings.Replace(goLeaks, "import (", "import \"C\"\n\nimport (", 1), "CGO_ENABLED=1")
	if !strings.Contains(said, "that Go's runtime mapped for its heap") {
		t.Errorf("no heap was mapped in the run: %q", said)
	}
	var all, leaks uint64
	for i := range p.Rows {
		all += p.Rows[i].Values[0]
		for _, f := range p.Stacks[p.Rows[i].User].Frames {
			if p.Frames[f].Name == "main.leaks" {
				leaks += p.Rows[i].Values[0]
				break
			}
		}
	}
	if leaks == 0 || all > leaks+leaks/2 {
		t.Errorf("%d bytes leak, %d of them by main.leaks", all, leaks)
	}
}

// runGoLeaks runs memleak while the program of a source leaks, and returns what it says
// besides.
func runGoLeaks(t *testing.T, name, source, cgo string) (*profile.Profile, string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	recipe := compiled.Recipe{
		Sources:  map[string]string{"main.go": source, "go.mod": "module leaks\n\ngo 1.18\n"},
		Commands: [][]string{{"go", "build", "-o", name, "."}}, Env: []string{"GOFLAGS=", cgo},
	}
	leaker := livetest.Start(t, exec.Command(filepath.Join(recipe.Dir(t), name)))
	defer leaker.Close()
	var said bytes.Buffer
	logger := slog.New(slog.DiscardHandler)
	run := &collect.Run{Target: &target.Target{PIDs: []int{leaker.PID}}, Watched: perfevent.Process(leaker.PID), User: true,
		Stderr: &said, Note: func(string) {}, Logger: logger}
	collectors, err := memleak.Open(run, memleak.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	result, err := profiler.Run(ctx, profiler.Options{
		Collectors: collectors, Target: run.Watched, Whole: true, Memory: 64 << 20, Logger: logger,
		Report: func(*profile.Profile) error { return nil },
		Armed: func() error { // the events are enabled
			defer cancel()
			return leaker.BeginUntil("done")
		},
	})
	if err := errors.Join(err, run.Close()); err != nil {
		t.Fatal(err)
	}
	return result.Whole, said.String()
}
