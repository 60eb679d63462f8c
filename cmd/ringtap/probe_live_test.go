package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// timedSource knows of its functions how often they are called, and two times that
// the one inside them lies between: from their first statement to their last, and
// around the calls.
const timedSource = `
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static unsigned long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ul + t.tv_nsec; }
static void rest(void) { struct timespec t = {0, 3000000}; nanosleep(&t, 0); }

struct times { unsigned long calls, inside, around; };
static struct times naps, dives, leaps, waits;
static __thread unsigned long begin;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jmp_buf out;

static void add(struct times *t, unsigned long calls, unsigned long inside, unsigned long around) {
	pthread_mutex_lock(&lock);
	t->calls += calls, t->inside += inside, t->around += around;
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) unsigned long nap(void) { unsigned long b = now(); rest(); b = now() - b; __asm__ volatile("" : "+r"(b)); return b; }

/* Calls itself, and the inner calls take as long as the outer one. */
__attribute__((noinline)) unsigned long dive(int depth) {
	unsigned long b = now();
	rest();
	if (depth > 1)
		dive(depth - 1);
	b = now() - b;
	__asm__ volatile("" : "+r"(b));
	return b;
}

__attribute__((noinline)) void leap(void) { rest(); longjmp(out, 1); }

__attribute__((noinline)) void wait_forever(void) {
	waits.inside = now();
	__atomic_store_n(&waits.calls, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void *waiter(void *unused) { waits.around = now(); wait_forever(); return unused; }

static void *work(void *unused) {
	for (int i = 0; i < 5; i++) {
		unsigned long b = now(), inside = nap();
		add(&naps, 1, inside, now() - b);
		b = now(), inside = dive(4);
		add(&dives, 4, inside, now() - b);
	}
	return unused;
}

static void print(const char *name, struct times *t) {
	printf("%s %lu %lu %lu\n", name, t->calls, t->inside, t->around);
}

int main(void) {
	pthread_t threads[3], t;
	pthread_create(&t, 0, waiter, 0);
	while (!__atomic_load_n(&waits.calls, __ATOMIC_ACQUIRE))
		rest();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, work, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	for (volatile int i = 0; i < 7; i++)
		if (!setjmp(out))
			leap();
	leaps.calls = 7;
	unsigned long end = now();
	waits.inside = end - waits.inside, waits.around = end - waits.around;
	print("nap", &naps);
	print("dive", &dives);
	print("leap", &leaps);
	print("wait_forever", &waits);
	fflush(stdout);
	_exit(0);
}
`

// functionTruth is what a line of the program says.
type functionTruth struct {
	calls, inside, around uint64
}

// compile compiles a C or C++ program, of which the test has its own copy: it gets
// probes.
func compile(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	name := map[string]string{"gcc": "program.c", "g++": "program.cc"}[compiler]
	command := append([]string{compiler, "-O1", "-g", "-pthread", "-o", "program", name}, flags...)
	return compiled.Copy(t, compiled.Program(t, map[string]string{name: source}, command...))
}

// probedProfile is what the tests need of a profile's JSON.
type probedProfile struct {
	Metrics []struct{ Name string }
	Frames  []struct{ Name string }
	Stacks  []struct{ Frames []int }
	Rows    []struct {
		User   int
		Values []uint64
	}
}

// column adds up a column of the rows below a caller, or of all with "".
func (p *probedProfile) column(name, caller string) (total uint64) {
	for i, m := range p.Metrics {
		if m.Name != name {
			continue
		}
		for _, row := range p.Rows {
			if caller == "" || row.User >= 0 && p.called(row.User, caller) {
				total += row.Values[i]
			}
		}
	}
	return total
}

// called reports whether the leaf of a stack was called by a function.
func (p *probedProfile) called(stack int, caller string) bool {
	frames := p.Stacks[stack].Frames
	return len(frames) > 1 && p.Frames[frames[len(frames)-2]].Name == caller
}

// probeRun runs ringtap probe with a command and returns the profile of the run, and
// what was printed.
func probeRun(t *testing.T, args ...string) (*probedProfile, string, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.json")
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "ringtap", append([]string{"probe", "--out", file}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, stdout.String(), stderr.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p probedProfile
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return &p, stdout.String(), stderr.String()
}

// truths reads what the program has printed.
func truths(t *testing.T, stdout string) map[string]functionTruth {
	t.Helper()
	all := make(map[string]functionTruth)
	for _, name := range []string{"nap", "dive", "leap", "wait_forever"} {
		var f functionTruth
		_, line, _ := strings.Cut("\n"+stdout, "\n"+name+" ")
		if _, err := fmt.Sscan(line, &f.calls, &f.inside, &f.around); err != nil {
			t.Fatalf("the program has not said what it knows of %s: %v\n%s", name, err, stdout)
		}
		all[name] = f
	}
	return all
}

func TestLiveProbeFindsTheTimeInsideFunctions(t *testing.T) {
	needTracefs(t, "uprobe_events")
	for _, test := range []struct {
		name  string
		flags []string
		args  []string
	}{
		{"return instructions", []string{"-static"}, nil},
		{"the kernel's return probes", nil, nil},
		{"windows shorter than calls", nil, []string{"-i", "0.01"}},
		{"one table of many", nil, []string{"-i", "0.05", "on-cpu"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.flags == nil && testlimit.Emulated() {
				t.Skip(testlimit.TooSlow) // nothing of it is the kernel's, and guests have no libc
			}
			program := compile(t, "gcc", timedSource, test.flags...)
			var args []string
			for _, name := range []string{"nap", "dive", "leap", "wait_forever"} {
				if args != nil {
					args = append(args, "probe")
				}
				args = append(args, program+":"+name)
			}
			args = append(append(args, test.args...), "--", program)
			p, stdout, stderr := probeRun(t, args...)
			for name, want := range truths(t, stdout) {
				column := program + ":" + name
				if calls := p.column(column+"Count", ""); calls != want.calls {
					t.Errorf("%s: %d calls, want %d", name, calls, want.calls)
				}
				took := p.column(column+"Time", "")
				switch {
				case name == "leap", name == "wait_forever" && test.flags != nil: // no return instructions
				case took < want.inside:
					t.Errorf("%s: %d ns, want at least %d", name, took, want.inside)
				case took > want.around && name != "wait_forever":
					t.Errorf("%s: %d ns, want at most %d", name, took, want.around)
				}
			}
			if outer, inner := p.column(program+":diveCount", "work"), p.column(program+":diveCount", "dive"); outer*3 != inner || outer == 0 {
				t.Errorf("%d calls of dive from work and %d from itself, want three times as many", outer, inner)
			}
			if t.Failed() {
				t.Log(stdout, stderr)
			}
		})
	}
}

func TestLiveProbesHistogramHasTheTimesOfTheTable(t *testing.T) {
	needTracefs(t, "uprobe_events")
	program := compile(t, "gcc", timedSource, "-static")
	p, stdout, _ := probeRun(t, "--hist", "-i", "600", program+":nap", "--", program)
	_, text, _ := strings.Cut(stdout, "\n"+program+":nap, nsecs:\n")
	_, sums, _ := strings.Cut(text, "total: ")
	var total, count uint64
	if _, err := fmt.Sscanf(sums, "%d nsecs, count: %d", &total, &count); err != nil {
		t.Fatalf("no histogram: %v\n%s", err, stdout)
	}
	if time := p.column(program+":napTime", ""); time != total || count != 15 {
		t.Errorf("%d calls of %d ns in the histogram, 15 of %d in the table", count, total, time)
	}
}

// thrownSource throws exceptions through functions, one of which ends in a jump to
// another, so that only a kernel's return probe sees all its ends.
const thrownSource = `
#include <cstdio>
#include <stdexcept>
extern "C" __attribute__((noinline)) int thrower(int i) { if (i % 2) throw std::runtime_error("odd"); return i; }
extern "C" __attribute__((noinline)) int through(int i) { int r = thrower(i); __asm__ volatile("" : "+r"(r)); return r + 1; }
extern "C" __attribute__((noinline)) int onwards(int i) { __asm__ volatile("" : "+r"(i)); return thrower(i); }
int main() {
	int caught = 0;
	for (int i = 0; i < 20; i++) {
		try { through(i); } catch (std::exception &e) { caught++; }
		try { onwards(i); } catch (std::exception &e) { caught++; }
	}
	return caught == 20 ? 0 : 3;
}
`

func TestLiveAProgramThatThrowsThroughProbedFunctionsGoesOn(t *testing.T) {
	needTracefs(t, "uprobe_events")
	program := compile(t, "g++", thrownSource, "-O2", "-static")
	for _, test := range []struct {
		function string
		calls    uint64
		untimed  string // what is said
	}{
		{"through", 20, ""},
		{"thrower", 40, ""},
		{"onwards", 20, "note: onwards is counted without its time"},
		{"t[h]r*", 60, ""},
	} {
		p, _, stderr := probeRun(t, program+":"+test.function, "--", program)
		if calls := p.column(program+":"+test.function+"Count", ""); calls != test.calls {
			t.Errorf("%s: %d calls, want %d\n%s", test.function, calls, test.calls, stderr)
		}
		if time := p.column(program+":"+test.function+"Time", ""); (time > 0) != (test.untimed == "") || !strings.Contains(stderr, test.untimed) {
			t.Errorf("%s: %d ns\n%s", test.function, time, stderr)
		}
	}
}

func TestLiveProbeTimesFunctionsOfTheKernel(t *testing.T) {
	needTracefs(t, "kprobe_events")
	for i, test := range []struct {
		function string
		command  []string
		calls    uint64 // 0: one or more
		least    time.Duration
	}{
		{sysCall("pread64"), []string{"known-program", "pread", "2000"}, 2000, 0},
		{sysCall("execve"), []string{"sh", "-c", "sh -c 'exec true'"}, 0, 1}, // which returns in another program
		{sysCall("clock_nanosleep"), []string{"known-program", "sleep", "20"}, 0, 20 * 10 * time.Millisecond},
		{sysCall("exit_group"), []string{"sh", "-c", "exit"}, 1, 1}, // which does not return
	} {
		if !testlimit.Case(i/2, 2) {
			continue
		}
		p, _, stderr := probeRun(t, append([]string{test.function, "--"}, test.command...)...)
		calls, took := p.column(test.function+"Count", ""), p.column(test.function+"Time", "")
		if calls == 0 || test.calls > 0 && calls != test.calls || time.Duration(took) < test.least {
			t.Errorf("%s: %d calls of %v, want %d and at least %v\n%s", test.function, calls, time.Duration(took), test.calls, test.least, stderr)
		}
	}
}
