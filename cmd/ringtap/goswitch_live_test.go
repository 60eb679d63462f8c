package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// goWaiting builds a Go program that waits and allocates in C functions, which Go calls on
// another stack. The test has its own copy, as it gets probes.
func goWaiting(t *testing.T) string {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("on arm64 neither the copied stack nor the frame pointers lead from C to its Go caller")
	}
	dir := compiled.Recipe{
		Sources:  compiled.Sources(t, "testdata/goswitch/main.go"),
		Commands: [][]string{{"go", "build", "-o", "goswitch", "main.go"}},
		Env:      []string{"GOFLAGS=", "GOWORK=off", "CGO_ENABLED=1"},
	}.Dir(t)
	return compiled.Copy(t, filepath.Join(dir, "goswitch"))
}

// foldedOf runs a collector on that program, which does everything 20 times, and returns
// the folded stacks with their values.
func foldedOf(t *testing.T, collector string) map[string]int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.folded")
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var errs bytes.Buffer
	args := []string{"ringtap", collector, "-u", "--out", path, "--", goWaiting(t), "20"}
	if code := run(ctx, args, &console{stdout: io.Discard, stderr: &errs}); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, &errs)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stacks := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		i := strings.LastIndexByte(line, ' ')
		if stacks[line[:i]], err = strconv.Atoi(strings.TrimSpace(line[i:])); err != nil {
			t.Fatal(err)
		}
	}
	return stacks
}

// toC matches the stack of a C function that a function of the program has called.
func toC(goFunction, cFunction string) *regexp.Regexp {
	return regexp.MustCompile(`^goswitch;runtime\.goexit\.abi0;runtime\.main;main\.main;main\.` + goFunction +
		`;main\._Cfunc_\w+\.abi0;runtime\.cgocall;runtime\.asmcgocall\.abi0;.*\b` + cFunction + `\b`)
}

func TestLiveALeakInCHasItsGoCallers(t *testing.T) {
	needTracefs(t, "uprobe_events")
	stacks := foldedOf(t, "memleak")
	got := make(map[string]int)
	for stack, size := range stacks {
		for _, function := range []string{"leakA", "leakB"} {
			if toC(function, "malloc").MatchString(stack) {
				got[function] += size
			}
		}
	}
	if got["leakA"] != 20*1000 || got["leakB"] != 20*500 {
		t.Errorf("leaked %v, want 20000 by leakA and 10000 by leakB; all stacks: %v", got, stacks)
	}
}

func TestLiveAWaitInCHasItsGoCallers(t *testing.T) {
	needTracefs(t, "events/sched/sched_switch/format")
	waitA, waitB := toC("waitA", "usleep"), toC("waitB", "usleep")
	stacks := foldedOf(t, "off-cpu")
	var a, b int
	for stack, time := range stacks {
		switch {
		case waitA.MatchString(stack):
			a += time
		case waitB.MatchString(stack):
			b += time
		case strings.Contains(stack, "usleep") && !strings.Contains(stack, "runtime.usleep"):
			t.Errorf("a wait in usleep without its Go caller: %s", stack)
		}
	}
	if a < 20*2e6 || b < 20*1e6 {
		t.Errorf("waited %d ns in waitA and %d ns in waitB, want 40 ms and 20 ms at least; all stacks: %v", a, b, stacks)
	}
}

func TestLiveAProbeInCShowsItsGoCallers(t *testing.T) {
	needTracefs(t, "uprobe_events")
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	path := goWaiting(t)
	if code := run(ctx, []string{"ringtap", "uprobe", "-s", "p:" + path + ":cwait", "--", path, "20"}, &console{stdout: &out, stderr: &errs}); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, &errs)
	}
	for _, function := range []string{"waitA", "waitB"} {
		want := regexp.MustCompile(`=> cwait\+.*\n(?:.*\n)? => runtime\.asmcgocall\.abi0\+.*\n => runtime\.cgocall\+.*\n => main\._Cfunc_cwait\.abi0\+.*\n => main\.` + function +
			`\+.*\n => main\.main\+.*\n => runtime\.main\+.*\n => runtime\.goexit\.abi0\+`)
		if n := len(want.FindAllString(out.String(), -1)); n != 20 {
			t.Errorf("%d stacks of %s, want 20\n%s%s", n, function, &out, &errs)
		}
	}
}

// The C functions keep no frame pointers: both stacks are read while the thread waits.
func TestLiveStackFollowsAGoFunctionThatCHasCalled(t *testing.T) {
	cmd := exec.Command(goWaiting(t))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	want := []string{"cread", "runtime.asmcgocall", "runtime.cgocall", "main._Cfunc_cread", "main.inner", "main.called", "_cgoexp_called",
		"runtime.cgocallbackg1", "runtime.cgocallbackg", "runtime.cgocallbackg", "runtime.cgocallback", "crosscall2",
		"called", "ccall", "runtime.asmcgocall", "runtime.cgocall", "main._Cfunc_ccall", "main.outer", "main.main", "runtime.main", "runtime.goexit"}
	for end := time.Now().Add(testlimit.End); ; time.Sleep(time.Millisecond) {
		stdout, _ := stackOf(t, "--lines=false", fmt.Sprint(cmd.Process.Pid))
		_, thread, _ := strings.Cut(stdout, "\nthread ")
		var got []string
		for _, match := range goFrame.FindAllStringSubmatch(thread, -1) {
			got = append(got, match[1]+match[2])
		}
		if from := slices.Index(got, want[0]); from >= 0 && slices.Equal(got[from:], want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("functions %q, want %q\n%s", got, want, stdout)
		}
	}
}

// goFrame matches a frame of the program, without what cgo puts into the middle of a name.
var goFrame = regexp.MustCompile(`(\S+?)(?:_[0-9a-f]{12})?(_called)?(?:\.abi0)?\+0x[0-9a-f]+ \(goswitch\)`)
