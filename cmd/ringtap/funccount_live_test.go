package main

import (
	"regexp"
	"strconv"
	"testing"
)

// countOf is what funccount has printed of a function; 0 if nothing.
func countOf(t *testing.T, stdout, function string) int {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(function) + ` +(\d+)$`).FindStringSubmatch(stdout)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLiveFunccountOfKernelFunctionsIsExact(t *testing.T) {
	const n = 3000
	for _, test := range []struct {
		name, pattern string
		need          func(*testing.T)
		flags         []string
	}{
		{"one function", sysCall("pread64"), func(t *testing.T) { needTracefs(t, "kprobe_events") }, nil},
		{"a pattern, by the function tracer", sysCall("pre*"), needFunctionTracer, nil},
		{"one function, by the function tracer", sysCall("pread64"), needFunctionTracer, []string{"--way", "function"}},
		{"a pattern, by probes", sysCall("pre*"), func(t *testing.T) { needTracefs(t, "kprobe_events") }, []string{"--way", "kprobe"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.need(t)
			args := append([]string{"funccount", "-p", "PID"}, test.flags...)
			stdout, stderr := underRingtap(t, "pread", n, append(args, test.pattern)...)
			if got := countOf(t, stdout, sysCall("pread64")); got != n {
				t.Errorf("%d calls are counted, want %d\n%s%s", got, n, stdout, stderr)
			}
		})
	}
}

// Without -p: what others do is counted too, and nothing is missed.
func TestLiveFunccountOfTheWholeSystemMissesNothing(t *testing.T) {
	const n = 3000
	for _, way := range []string{"function", "kprobe"} {
		t.Run(way, func(t *testing.T) {
			needTracefs(t, "kprobe_events")
			if way == "function" {
				needFunctionTracer(t)
			}
			k := startKnown(t, "pread", n)
			stdout, _ := runForAll(t, k, "funccount", "--way", way, sysCall("pread64"))
			if got := countOf(t, stdout, sysCall("pread64")); got < n {
				t.Errorf("%d calls are counted of %d\n%s", got, n, stdout)
			}
		})
	}
}

func TestLiveFunccountOfTracepointsIsExact(t *testing.T) {
	needTracefs(t, "events/syscalls/sys_enter_pread64")
	const n = 3000
	stdout, stderr := underRingtap(t, "pread", n, "funccount", "-p", "PID", "t:syscalls:sys_*_pread64")
	for _, name := range []string{"syscalls:sys_enter_pread64", "syscalls:sys_exit_pread64"} {
		if got := countOf(t, stdout, name); got != n {
			t.Errorf("%d hits of %s are counted, want %d\n%s%s", got, name, n, stdout, stderr)
		}
	}
}
