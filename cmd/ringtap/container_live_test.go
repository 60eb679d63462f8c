package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// A container's processes are found by its id, its control group's path or their
// process ids, the functions and allocators are those of its own files, and of a
// process that is in the group for a while it is that while.
func TestLiveAContainerIsSeenByAllCollectors(t *testing.T) {
	needTracefs(t, "uprobe_events")
	b := newBoxes(t)
	first, second := b.start(t, b.watched), b.start(t, b.others)
	for i, test := range []struct{ name, flag, value string }{
		{"by its id", "-g", b.id[:12]},
		{"by its group's path", "-g", strings.TrimPrefix(b.watched, truth.Cgroup2(t))},
		{"by a process id", "-p", strconv.Itoa(first.Process.Pid)},
		{"by a thread id", "-t", strconv.Itoa(first.Process.Pid)},
	} {
		if !testlimit.Case(i, 2) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			r := startCollectors(t, boxCollectors, test.flag, test.value)
			first.rounds(2)
			if test.flag == "-g" {
				second.move(b.watched)
			}
			second.rounds(1)
			if test.flag == "-g" {
				second.move(b.others)
			}
			second.rounds(3)
			first.rounds(1)
			p, said := r.end(t)
			switch test.flag {
			case "-g":
				checkBox(t, p, second, 1)
				checkBox(t, p, first, 3)
			case "-p":
				checkBox(t, p, first, 3)
			case "-t":
				checkColumns(t, p, first, boxWork(3))
			}
			for _, process := range p.Processes {
				if process.NSPID != 1 || process.PID != first.Process.Pid && (process.PID != second.Process.Pid || test.flag != "-g") {
					t.Errorf("process %+v is not in the container", process)
				}
			}
			if t.Failed() {
				t.Log(said)
			}
		})
	}
}

// boxProbes are the probes that a container is watched with. No other sample may come
// from within their functions: it has no callers while a return is probed.
var boxProbes = []string{"libc:getppid", "/bin/box:box_work"}

// boxCollectors are all collectors that tell something of every program.
var boxCollectors = []string{"off-cpu", "on-cpu", "io", "memleak", "probe", boxProbes[0], "probe", boxProbes[1]}

// collectors is a run of several collectors.
type collectors struct {
	*exec.Cmd
	file   string
	stderr bytes.Buffer
}

// startCollectors starts a run and waits until it records.
func startCollectors(t *testing.T, names []string, target ...string) *collectors {
	t.Helper()
	c := &collectors{file: filepath.Join(t.TempDir(), "out.json")}
	args := slices.Concat(names, target, []string{"--tables", "-u", "-f", "199", "-i", "0.2", "-o", "1", "--out", c.file})
	c.Cmd = exec.Command("ringtap", args...)
	recording := make(chan struct{})
	// Without the buffer's ReadFrom.
	c.Stdout, c.Stderr = struct{ io.Writer }{&firstTables{call: func() { close(recording) }}}, &c.stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	select {
	case <-recording:
	case <-time.After(testlimit.End):
		_ = c.Process.Kill()
		_ = c.Wait()
		t.Fatalf("%s does not record\n%s", c, c.stderr.String())
	}
	return c
}

// end ends the run and returns its profile, and what it said.
func (c *collectors) end(t *testing.T) (*processProfile, string) {
	t.Helper()
	if err := c.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(testlimit.End, func() { _ = c.Process.Kill() })
	defer late.Stop()
	if err := c.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s", c, err, c.stderr.String())
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	p := &processProfile{}
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatal(err)
	}
	return p, c.stderr.String()
}

// processProfile is what the tests need of a profile's JSON, by process.
type processProfile struct {
	Metrics []struct{ Name string }
	Frames  []struct{ Name string }
	Stacks  []struct {
		Frames    []int
		Truncated bool
	}
	Processes []struct {
		PID, NSPID   int
		Comm, Cgroup string
	}
	Rows []struct {
		Process, User int
		Values        []uint64
	}
	Accounts []struct{ Lost uint64 }
}

// lost is how many records the run has lost.
func (p *processProfile) lost() (n uint64) {
	for _, a := range p.Accounts {
		n += a.Lost
	}
	return n
}

// below adds up a column of a process's rows whose user stack goes through a
// function.
func (p *processProfile) below(pid int, column, function string) (total uint64) {
	for i, m := range p.Metrics {
		for _, row := range p.Rows {
			if m.Name == column && p.Processes[row.Process].PID == pid && row.User >= 0 && p.through(row.User, function) {
				total += row.Values[i]
			}
		}
	}
	return total
}

// through reports whether a stack goes through a function.
// Generated code's names have more than the function's.
func (p *processProfile) through(stack int, function string) bool {
	return slices.ContainsFunc(p.Stacks[stack].Frames, func(f int) bool {
		name := p.Frames[f].Name
		return name == function || strings.HasPrefix(name, "JS:") && strings.Contains(name, function+" ")
	})
}

// boxColumn is what a column has to add up to below a function.
type boxColumn struct {
	name, function string
	value          uint64
}

// boxWork is what so many calls of box_work are.
func boxWork(calls uint64) []boxColumn {
	return []boxColumn{{boxProbes[0] + "Count", "box_work", calls}, {boxProbes[1] + "Count", "box_work", calls}}
}

// checkBox compares a profile with the rounds that the program in a container has
// done.
func checkBox(t *testing.T, p *processProfile, c *box, rounds uint64) {
	t.Helper()
	checkColumns(t, p, c, append(boxWork(51*rounds), []boxColumn{
		{"IOSize", "box_read", 10000 * rounds},
		{"IOCount", "box_read", 10 * rounds},
		{"LeakedSize", "box_leak", 3 * 777 * rounds},
		{"LeakedCount", "box_leak", 3 * rounds},
		{"LeakedCount", "box_free", 0},
	}...))
	pid := c.Process.Pid
	// Where a CPU is wanted by many a nap may be over before it has begun.
	if naps, took := p.below(pid, "OffCPUCount", "box_nap"), p.below(pid, "OffCPUTime", "box_nap")+p.below(pid, "PreemptedTime", "box_nap"); naps == 0 || naps > 5*rounds || took < 4e6*naps {
		t.Errorf("process %d: %d naps of %d ns, want %d of 4 ms or more", pid, naps, took, 5*rounds)
	}
	if p.below(pid, "OnCPUTime", "box_spin") == 0 {
		t.Errorf("process %d: no sample of box_spin", pid)
	}
}

func checkColumns(t *testing.T, p *processProfile, c *box, columns []boxColumn) {
	t.Helper()
	for _, want := range columns {
		if got := p.below(c.Process.Pid, want.name, want.function); got != want.value {
			t.Errorf("process %d: %s below %s is %d, want %d", c.Process.Pid, want.name, want.function, got, want.value)
		}
	}
}

// stack takes a process by its number in a container, and names what it waits in by
// the container's own files.
func TestLiveStackOfAContainersProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root")
	}
	b := newBoxes(t)
	c := b.start(t, b.watched)
	for _, args := range [][]string{{"-g", b.id[:12], "1"}, {"-g", b.watched}, {strconv.Itoa(c.Process.Pid)}} {
		out, err := exec.Command("ringtap", append([]string{"stack"}, args...)...).CombinedOutput()
		want := fmt.Sprintf("process %d box: 1 thread, pid 1 in its namespace\n/bin/box\n", c.Process.Pid)
		if text := string(out); err != nil || !strings.HasPrefix(text, want) || !strings.Contains(text, "box_wait+") || !strings.Contains(text, "(libc.so.6)") {
			t.Errorf("ringtap stack %q: %v\n%s", args, err, out)
		}
	}
}
