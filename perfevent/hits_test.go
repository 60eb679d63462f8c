package perfevent

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// hits runs testdata/hits.c, which counts its own calls.
type hits struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
	tids  []int // of the early threads
}

var buildHits = sync.OnceValues(func() (string, error) {
	path := filepath.Join(fixtures, "hits")
	out, err := exec.Command("gcc", "-O1", "-pthread", "-o", path, "testdata/hits.c").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gcc: %w: %s", err, out)
	}
	return path, nil
})

// hitsProgram returns the path of the program and the offset of hit in it.
func hitsProgram(t testing.TB) (string, uint64) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc to build the fixture program")
	}
	path, err := buildHits()
	if err != nil {
		t.Fatal(err)
	}
	return path, functionOffset(t, path, "hit")
}

// functionOffset returns the place in the file of a function.
func functionOffset(t testing.TB, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, _ := f.Symbols() // a stripped library has none
	dynamic, _ := f.DynamicSymbols()
	for _, sym := range append(symbols, dynamic...) {
		if sym.Name != name || sym.Section == elf.SHN_UNDEF {
			continue
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && sym.Value >= p.Vaddr && sym.Value < p.Vaddr+p.Filesz {
				return sym.Value - p.Vaddr + p.Off
			}
		}
	}
	t.Fatalf("%s has no function %s", path, name)
	return 0
}

// startHits starts the program and waits until it is ready.
func startHits(t testing.TB, function string, early, late, children, calls, depth int) *hits {
	t.Helper()
	path, _ := hitsProgram(t)
	return startHitsOf(t, path, function, early, late, children, calls, depth)
}

func startHitsOf(t testing.TB, path, function string, early, late, children, calls, depth int) *hits {
	t.Helper()
	h := &hits{t: t, cmd: exec.Command(path, function, fmt.Sprint(early), fmt.Sprint(late),
		fmt.Sprint(children), fmt.Sprint(calls), fmt.Sprint(depth))}
	h.cmd.Stderr = os.Stderr
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if h.stdin, err = h.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, h.cmd)
	t.Cleanup(h.end)
	h.lines = bufio.NewScanner(stdout)
	h.lines.Scan()
	rest, ok := strings.CutPrefix(h.lines.Text(), "ready")
	if !ok {
		t.Fatalf("the fixture program says %q", h.lines.Text())
	}
	for _, field := range strings.Fields(rest) {
		var tid int
		if _, err := fmt.Sscan(field, &tid); err != nil {
			t.Fatal(err)
		}
		h.tids = append(h.tids, tid)
	}
	return h
}

func (h *hits) pid() int { return h.cmd.Process.Pid }

// call lets the program call, and returns how often it did and the nanoseconds
// that a call took.
func (h *hits) call() (total uint64, nanoseconds float64) {
	if _, err := io.WriteString(h.stdin, "go\n"); err != nil {
		h.t.Error(err)
	}
	h.lines.Scan()
	if _, err := fmt.Sscanf(h.lines.Text(), "called %d %f", &total, &nanoseconds); err != nil {
		h.t.Errorf("the fixture program says %q: %v", h.lines.Text(), err)
	}
	return total, nanoseconds
}

func (h *hits) end() {
	h.stdin.Close()
	if err := h.cmd.Wait(); err != nil {
		h.t.Errorf("the fixture program: %v", err)
	}
}

// inheritedChildren returns how many children a program may have whose events are
// inherited: none before Linux 6.12, which loses hits of a process that has some
// without counting them (see keepsContexts).
func inheritedChildren(t *testing.T, n int) int {
	t.Helper()
	if !testlimit.Linux(t, 6, 12) {
		return 0
	}
	return n
}

// miscounts returns how many of n hits the events of several CPUs may have seen
// twice or not at all: none, unless each CPU has a uprobe of perf's own. Then a
// thread that moves to another CPU while the kernel goes through them is seen by
// the events of both or of neither.
func miscounts(e Event, n int) int {
	if e.attr.Type == perf.TracepointEvent {
		return 0
	}
	return n/1000 + 1
}

// miscounted reports whether got is further from want than slack.
func miscounted(got, want uint64, slack int) bool {
	return got > want+uint64(slack) || want > got+uint64(slack)
}

// tracefs returns where the trace file system is, mounted if need be.
func tracefs(t testing.TB) string {
	t.Helper()
	const root = "/sys/kernel/tracing"
	if _, err := os.Stat(root + "/events"); err != nil {
		if err := unix.Mount("tracefs", root, "tracefs", 0, ""); err != nil {
			t.Skipf("no tracefs: %v", err)
		}
	}
	return root
}

// hitTracepoint is a probe of tracefs on the fixture program's hit, with the
// number of the call as its field n. It is removed with the test.
func hitTracepoint(t testing.TB) Event {
	t.Helper()
	root := tracefs(t)
	path, offset := hitsProgram(t)
	group := fmt.Sprintf("perfevent_%d", os.Getpid())
	name := fmt.Sprintf("%s/hit_%d", group, Now())
	define := func(line string) error {
		f, err := os.OpenFile(root+"/uprobe_events", os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Skipf("no user probes in tracefs: %v", err)
		}
		_, err = f.WriteString(line + "\n")
		return errors.Join(err, f.Close())
	}
	if err := define(fmt.Sprintf("p:%s %s:%#x n=%s", name, path, offset, firstArgument)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := define("-:" + name); err != nil {
			t.Errorf("remove %s: %v", name, err)
		}
	})
	text, err := os.ReadFile(filepath.Join(root, "events", name, "id"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return Tracepoint(id, strings.Replace(name, "/", ":", 1))
}
