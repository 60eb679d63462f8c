package python

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// pythons are the CPythons that are installed.
func pythons(t testing.TB) []string {
	t.Helper()
	found := interptest.Installed("python")
	if len(found) == 0 {
		t.Skip("python3 is not installed")
	}
	return found
}

// The live tests run what is installed; what no stable release of Debian has,
// scripts/install-interpreters gets.
func TestTheNewestReleasesAreThereForTheLiveTests(t *testing.T) {
	for minor := described + 1; minor <= newest; minor++ {
		t.Run(fmt.Sprintf("3.%d", minor), func(t *testing.T) {
			if !slices.ContainsFunc(pythons(t), func(path string) bool {
				out, err := exec.Command(path, "--version").Output()
				return err == nil && strings.HasPrefix(string(out), fmt.Sprintf("Python 3.%d.", minor))
			}) {
				t.Skipf("python3.%d is not installed", minor)
			}
		})
	}
}

// truth is the chains of threads, by id, as the program knows them.
type truth map[int][]interp.Frame

// target is a Python program that stands still.
type target struct {
	pid     int
	truth   truth
	runtime *python
}

// start starts a program of testdata and waits until it has told its chains.
func start(t testing.TB, python string, args ...string) *target {
	t.Helper()
	return await(t, exec.Command(python, args...))
}

func await(t testing.TB, cmd *exec.Cmd) *target {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "LC_ALL=C.UTF-8") // for the names of files
	testlimit.Limit(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%s: %v", cmd.Path, err)
	}
	p := &target{pid: cmd.Process.Pid}
	if p.truth, err = parseTruth(line); err != nil {
		t.Fatal(err)
	}
	p.runtime = attach(t, p.pid)
	return p
}

func parseTruth(line []byte) (truth, error) {
	var told map[string][][3]any
	if err := json.Unmarshal(line, &told); err != nil {
		return nil, err
	}
	result := make(truth)
	for id, chain := range told {
		tid, err := strconv.Atoi(id)
		if err != nil {
			return nil, err
		}
		for _, f := range chain {
			line, _ := f[2].(float64) // None where there is none
			var file []byte
			for _, b := range f[1].(string) { // a character for each byte
				file = append(file, byte(b))
			}
			result[tid] = append(result[tid], interp.Frame{Function: f[0].(string), File: string(file), Line: int(line)})
		}
	}
	return result, nil
}

// attach attaches to the CPython of a process.
func attach(t testing.TB, pid int) *python {
	t.Helper()
	table := process.NewTable(process.Options{})
	t.Cleanup(table.Close)
	space := table.Reread(pid)
	runtimes, err := interp.Attach(interp.NewProcess(pid, space, nil), []interp.Detector{Detect})
	if err != nil {
		t.Fatal(err)
	}
	if len(runtimes) != 1 {
		t.Fatalf("%d runtimes in process %d", len(runtimes), pid)
	}
	return runtimes[0].(*python)
}

// maxDepth is more than any chain of the programs has.
const maxDepth = 4096

// walk finds a thread's chain.
func (p *target) walk(t testing.TB, w interp.Walker, tid int) []interp.Frame {
	t.Helper()
	calls, end := w.Walk(make([]interp.Call, 0, maxDepth), &interp.Thread{TID: tid})
	if end != callchain.Complete {
		t.Errorf("thread %d: the chain of %d calls is %s", tid, len(calls), end)
	}
	var frames []interp.Frame
	for _, c := range calls {
		var ok bool
		if frames, ok = p.runtime.Frames(frames, c); !ok {
			t.Errorf("thread %d: %#x is no function", tid, c.Code)
		}
	}
	return frames
}

func (p *target) check(t *testing.T) {
	t.Helper()
	w := p.runtime.Walker(nil)
	frames := 0
	for tid, want := range p.truth {
		got := p.walk(t, w, tid)
		if !slices.Equal(got, want) {
			t.Errorf("thread %d:\ngot  %q\nwant %q", tid, lines(got), lines(want))
		}
		frames += len(got)
	}
	t.Logf("%s: %d threads, %d frames", p.runtime.Name(), len(p.truth), frames)
}

func lines(frames []interp.Frame) (lines []string) {
	for _, f := range frames {
		lines = append(lines, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
	}
	return lines
}

// randomThreads is how many threads with random chains a program has. With 9 releases
// that makes more than a thousand.
const randomThreads = 120

func TestLiveThreadsThatStandStillHaveTheChainsThatPythonItselfTells(t *testing.T) {
	for _, path := range pythons(t) {
		t.Run(path, func(t *testing.T) {
			p := start(t, path, "testdata/chains.py", strconv.Itoa(randomThreads), "1")
			p.check(t)
			if p.runtime.minor >= locations { // as where libc does not say what it knows
				p.runtime.libc = false
				p.check(t)
			}
		})
	}
}
