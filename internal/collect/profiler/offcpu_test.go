package profiler_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/offcpu"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// A program whose functions wait for known times, and that says what the kernel
// counted of each: "FUNCTION nanoseconds, of them on a CPU, voluntary switches,
// others". It begins at a line on its standard input and ends at the next.
const waitsProgram = `
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>
static long ns(int clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
#define noinline __attribute__((noinline))
noinline void inner(long us) { usleep(us); __asm__ volatile(""); }
noinline void outer(long us) { inner(us); __asm__ volatile(""); }
static char said[8][100];
#define TASK(NAME, WORK) noinline void NAME##_work(void) { WORK; __asm__ volatile(""); } \
noinline void *NAME(void *n) { \
	struct rusage r, s; \
	long cpu = ns(CLOCK_THREAD_CPUTIME_ID), begin = ns(CLOCK_MONOTONIC); \
	getrusage(RUSAGE_THREAD, &r); \
	NAME##_work(); \
	getrusage(RUSAGE_THREAD, &s); \
	long took = ns(CLOCK_MONOTONIC) - begin; cpu = ns(CLOCK_THREAD_CPUTIME_ID) - cpu; \
	snprintf(n, 100, #NAME " %ld %ld %ld %ld", took, cpu, s.ru_nvcsw - r.ru_nvcsw, s.ru_nivcsw - r.ru_nivcsw); return 0; }
TASK(direct, for (int i = 0; i < 40; i++) inner(20000))
TASK(nested, for (int i = 0; i < 20; i++) outer(30000))
TASK(mine, for (int i = 0; i < 30; i++) inner(25000))
static void pin(void) { cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); sched_setaffinity(0, sizeof one, &one); }
static void spin(void) { long end = ns(CLOCK_THREAD_CPUTIME_ID) + 300000000; while (ns(CLOCK_THREAD_CPUTIME_ID) < end) {} }
TASK(spinA, pin(); spin())
TASK(spinB, pin(); spin())
int main(int argc, char **argv) {
	void *(*all[])(void *) = {direct, nested, spinA, spinB};
	int first = argc > 1 ? 2 : 0;
	pthread_t t[2];
	puts("ready"); fflush(stdout); getchar();
	for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, all[first + i], said[i]);
	mine(said[2]);
	for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
	for (int i = 0; i < 3; i++) puts(said[i]);
	fflush(stdout); getchar();
}
`

// waits is what the kernel counted in a function of the program, and what others had
// of the machine meanwhile: stolen is of all CPUs, in nanoseconds.
type waits struct {
	took, cpu, voluntary, other, stolen uint64
}

// stolen is how long the machine's host has run others where this machine wanted to
// run (steal in /proc/stat). A thread that is on a CPU then uses no time of it.
func stolen(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Error(err)
	}
	const tick = 10_000_000 // 1/USER_HZ
	var cpu string
	var ticks [8]uint64
	if _, err := fmt.Sscan(string(text), &cpu, &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]); err != nil {
		t.Errorf("/proc/stat: %v", err)
	}
	return ticks[7] * tick
}

// waiting is the program while it runs.
type waiting struct {
	input io.Writer
	lines *bufio.Scanner
}

func buildWaits(t *testing.T) string {
	t.Helper()
	return compiled.Program(t, map[string]string{"waits.c": waitsProgram}, "gcc", "-O1", "-g", "-static", "-pthread", "-o", "waits", "waits.c")
}

// pipes gives the command an input and an output.
func pipes(t *testing.T, cmd *exec.Cmd) *waiting {
	t.Helper()
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return &waiting{input: input, lines: bufio.NewScanner(output)}
}

// goOn has the program go on.
func (w *waiting) goOn(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(w.input, "\n"); err != nil {
		t.Error(err)
	}
}

// answers reads what the program says it did.
func (w *waiting) answers(t *testing.T) map[string]waits {
	t.Helper()
	all := make(map[string]waits)
	for len(all) < 3 && w.lines.Scan() {
		var name string
		var a waits
		if _, err := fmt.Sscan(w.lines.Text(), &name, &a.took, &a.cpu, &a.voluntary, &a.other); err == nil {
			all[name] = a
		}
	}
	return all
}

// sumOf adds up the columns of the rows whose user stack has a function.
func sumOf(p *profile.Profile, pid int, function string) (all [4]uint64) {
	for _, row := range p.Rows {
		if row.User == profile.None || pid != 0 && p.Processes[row.Process].PID != pid {
			continue
		}
		for _, f := range p.Stacks[row.User].Frames {
			if p.Frames[f].Name == function {
				for i := range all {
					all[i] += row.Values[i]
				}
				break
			}
		}
	}
	return all
}

// offCPUCollector is what the command makes.
func offCPUCollector(t *testing.T, opts offcpu.Options) table.Collector {
	t.Helper()
	fs, _, err := ftrace.Mount()
	if err != nil {
		t.Skipf("tracefs: %v", err)
	}
	if opts.Switch, err = fs.Format("sched", "sched_switch"); err != nil {
		t.Skipf("sched_switch: %v", err)
	}
	opts.Stacks = stack.Stacks{User: true, Kernel: true, Unwind: stack.Auto}
	if opts.Whole { // stacks of the whole machine, as deep as that of the program and no deeper
		opts.Stacks.Copy, opts.Stacks.Budget = 1<<10, 16<<20
	}
	c, err := offcpu.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkWaits compares a profile with what the kernel counted. The number of waits is
// exact, but that a thread may be preempted between its count and its work: such a wait
// is in the function that counts, not in the one that works. The time is that of the
// function but for what it was on a CPU, which the program and the kernel see from
// either side of a switch.
func checkWaits(t *testing.T, p *profile.Profile, pid int, truth map[string]waits, functions ...string) {
	t.Helper()
	for _, name := range functions {
		want, ok := truth[name]
		got := sumOf(p, pid, name+"_work")
		if !ok {
			t.Errorf("the program says nothing of %s", name)
			continue
		}
		around := sumOf(p, pid, name)
		if got[1] != want.voluntary || around[3] < want.other || got[3] > want.other+2 && !testlimit.Emulated() {
			t.Errorf("%s: %d voluntary waits and %d others (%d with those around the work), the kernel counted %d and %d",
				name, got[1], got[3], around[3], want.voluntary, want.other)
		}
		if testlimit.Emulated() {
			continue // its CPUs stand still between a switch and the record of it
		}
		off := want.took - want.cpu
		slack := want.took/100 + want.cpu/10 + want.stolen
		if sum := got[0] + got[2]; sum > want.took+slack || sum+slack < off {
			t.Errorf("%s: off the CPUs for %v, want %v", name, time.Duration(sum), time.Duration(off))
		}
	}
}

// runOffCPU runs an off-cpu collector while the program goes on, and returns the
// profile of the whole run, which must be the sum of those of its windows, what the
// program says, and how many samples were lost.
func runOffCPU(t *testing.T, target perfevent.Target, collector table.Collector, w *waiting) (*profile.Profile, map[string]waits, uint64) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	said := make(chan map[string]waits, 1)
	before := stolen(t)
	var windows [4]uint64
	opts := profiler.Options{
		Target: target, Collectors: []table.Collector{collector},
		Interval: 100 * time.Millisecond, Whole: true, Memory: 64 << 20, Logger: slog.New(slog.DiscardHandler),
		Report: func(p *profile.Profile) error {
			for _, row := range p.Rows {
				for i, v := range row.Values {
					windows[i] += v
				}
			}
			return nil
		},
	}
	begins := whenItBegins(&opts)
	go func() {
		<-begins
		w.goOn(t)
		all := w.answers(t)
		for name, a := range all {
			a.stolen = stolen(t) - before
			all[name] = a
		}
		said <- all
		cancel() // what is in the rings by now is still read
	}()
	result, err := profiler.Run(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	var whole [4]uint64
	for _, row := range result.Whole.Rows {
		for i, v := range row.Values {
			whole[i] += v
		}
	}
	if windows != whole {
		t.Errorf("the windows add up to %v, the whole run is %v", windows, whole)
	}
	// Each time that the copies of the stack grow, a hit may be counted by events
	// that do not record it any more, beside those that do.
	a := result.Accounts[0]
	if all := a.Received + a.Lost; a.Counted < all || a.Counted > all+40 {
		t.Errorf("%d samples received of %d, %d lost", a.Received, a.Counted, a.Lost)
	}
	return result.Whole, <-said, a.Lost
}

func TestLiveOffCPUTimeIsWhatTheKernelCounts(t *testing.T) {
	needRoot(t)
	program := buildWaits(t)
	sleeping := []string{"direct", "nested", "mine"}
	for _, test := range []struct {
		name      string
		args      []string
		target    func(t *testing.T, pid int) (perfevent.Target, offcpu.Options)
		functions []string
	}{
		{"the whole system", nil, func(_ *testing.T, _ int) (perfevent.Target, offcpu.Options) {
			return perfevent.System(), offcpu.Options{Whole: true}
		}, sleeping},
		{"the whole system by the tracepoint, where it tells who goes on", nil, func(t *testing.T, _ int) (perfevent.Target, offcpu.Options) {
			fs, _, err := ftrace.Mount()
			if err != nil {
				t.Skipf("tracefs: %v", err)
			}
			format, err := fs.Format("sched", "sched_switch")
			if err != nil {
				t.Skipf("sched_switch: %v", err)
			}
			blind, err := collect.BlindCPUs(format)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("idle CPUs that are not seen: %v", blind)
			return perfevent.System(), offcpu.Options{Whole: true, Blind: blind}
		}, sleeping},
		{"a process", nil, func(_ *testing.T, pid int) (perfevent.Target, offcpu.Options) {
			return perfevent.Process(pid), offcpu.Options{Watched: []int{pid}}
		}, sleeping},
		{"a thread", nil, func(_ *testing.T, pid int) (perfevent.Target, offcpu.Options) {
			return perfevent.Thread(pid), offcpu.Options{Watched: []int{pid}, Threads: []int{pid}}
		}, []string{"mine"}},
		{"a control group", nil, func(t *testing.T, pid int) (perfevent.Target, offcpu.Options) {
			group := newGroup(t, pid)
			return perfevent.InCgroup(group), offcpu.Options{Group: group}
		}, sleeping},
		{"threads that share a CPU", []string{"spin"}, func(_ *testing.T, pid int) (perfevent.Target, offcpu.Options) {
			return perfevent.Process(pid), offcpu.Options{Watched: []int{pid}}
		}, []string{"spinA", "spinB"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			testlimit.Lossless(t, func() uint64 {
				cmd := exec.Command(program, test.args...)
				w := pipes(t, cmd)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				testlimit.Limit(t, cmd)
				defer func() { cmd.Process.Kill(); cmd.Wait() }()
				w.lines.Scan() // ready
				target, opts := test.target(t, cmd.Process.Pid)
				p, said, lost := runOffCPU(t, target, offCPUCollector(t, opts), w)
				if lost > 0 {
					return lost
				}
				if len(opts.Blind) > 0 && missesSwitches(p, cmd.Process.Pid, said, test.functions) {
					t.Skip("this kernel does not trace all switches, idle or not")
				}
				checkWaits(t, p, cmd.Process.Pid, said, test.functions...)
				return 0
			})
		})
	}
}

// There is no record of a process that waits in a control group all the time.
func TestLiveWhatHangsInAControlGroupCounts(t *testing.T) {
	needRoot(t)
	cmd := exec.Command(buildWaits(t))
	w := pipes(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	w.lines.Scan() // ready: it goes on to wait for its input
	asleep(t, cmd.Process.Pid)
	group := newGroup(t, cmd.Process.Pid)
	const long = 300 * time.Millisecond
	result, err := profiler.Run(limited(t), profiler.Options{
		Target: perfevent.InCgroup(group), Collectors: []table.Collector{offCPUCollector(t, offcpu.Options{Group: group})},
		Duration: long, Whole: true, Memory: 64 << 20, Report: func(*profile.Profile) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	var got [4]uint64
	for _, row := range result.Whole.Rows {
		if result.Whole.Processes[row.Process].PID == cmd.Process.Pid {
			got = [4]uint64(row.Values)
		}
	}
	if got[0]+got[2] > uint64(long) || got[0]+got[2] < uint64(long)*99/100 || got[1] != 1 {
		t.Errorf("columns %v, want a wait of %v", got, long)
	}
}

// asleep waits until a process that is about to wait does so (proc_pid_stat(5)).
func asleep(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(testlimit.Patience(time.Minute)); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), ") S ") {
			return
		}
	}
	t.Fatalf("process %d does not wait", pid)
}

// missesSwitches reports whether a wait of a function is missing. A kernel that does not
// trace some CPUs while they are idle was seen not to trace what some of its tasks do
// either: a thread that goes on after one of those is not seen to.
func missesSwitches(p *profile.Profile, pid int, truth map[string]waits, functions []string) bool {
	return slices.ContainsFunc(functions, func(name string) bool {
		return sumOf(p, pid, name+"_work")[1] == truth[name].voluntary-1
	})
}

func TestLiveOffCPUTimeOfACommand(t *testing.T) {
	needRoot(t)
	program := buildWaits(t)
	testlimit.Lossless(t, func() uint64 {
		cmd := exec.Command(program)
		w := pipes(t, cmd)
		command, err := perfevent.StartCommand(cmd)
		if err != nil {
			t.Fatal(err)
		}
		testlimit.Limit(t, cmd)
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
		p, said, lost := runOffCPU(t, perfevent.Started(command), offCPUCollector(t, offcpu.Options{Held: command.PID()}), w)
		if lost > 0 {
			return lost
		}
		checkWaits(t, p, command.PID(), said, "direct", "nested", "mine")
		for _, row := range p.Rows {
			if row.User == profile.None && row.Kernel == profile.None {
				t.Errorf("a row without stacks: %v", row.Values)
			}
		}
		return 0
	})
}

// A Go program's goroutines wait on threads of the runtime, which blocking system
// calls keep: a read of a pipe in the raw way is one.
func TestLiveOffCPUTimeOfAGoProgram(t *testing.T) {
	if os.Getenv(goSleeper) != "" {
		sleepInGo()
		return
	}
	needRoot(t)
	testlimit.Lossless(t, func() uint64 {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestLiveOffCPUTimeOfAGoProgram$")
		// A signal of the runtime's that meets a thread in its sleep makes two waits of it.
		cmd.Env = append(os.Environ(), goSleeper+"=1", "GODEBUG=asyncpreemptoff=1")
		w := pipes(t, cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		testlimit.Limit(t, cmd)
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
		for w.lines.Scan() && w.lines.Text() != "ready" {
		}
		pid := cmd.Process.Pid
		p, said, lost := runOffCPU(t, perfevent.Process(pid), offCPUCollector(t, offcpu.Options{Watched: []int{pid}}), w)
		if lost > 0 {
			return lost
		}
		// Waits of Go's runtime are on stacks of its own, below no function.
		for _, test := range []struct {
			name  string
			naps  uint64
			sleep time.Duration
		}{{"goShallow", 40, 800 * time.Millisecond}, {"goDeep", 20, 600 * time.Millisecond}} {
			got := sumOf(p, pid, "github.com/ringtap/ringtap/internal/collect/profiler_test."+test.name)
			if got[1] != test.naps || got[0] < uint64(test.sleep) || got[0] > said[test.name].took {
				t.Errorf("%s: %d waits of %v in all, want %d of %v to %v", test.name, got[1], time.Duration(got[0]), test.naps, test.sleep, time.Duration(said[test.name].took))
			}
		}
		return 0
	})
}
