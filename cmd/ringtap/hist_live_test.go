package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// histOf runs hist on a known program and returns how many calls or values each
// bucket has, by its lower bound, and all that was printed.
func histOf(t *testing.T, work string, n int, args ...string) (buckets map[int64]uint64, text string) {
	t.Helper()
	stdout, stderr := underRingtap(t, work, n, append([]string{"hist"}, args...)...)
	buckets = map[int64]uint64{}
	for label, n := range bucketsOf(t, stdout, `, [nu]secs:\n(?: => .*\n)*|: *\n`) {
		low, _, _ := strings.Cut(strings.Trim(label, "[()]"), ",")
		buckets[unshort(t, low)] += n
	}
	return buckets, stdout + stderr
}

// unshort reads a label's number; "..." is the least.
func unshort(t *testing.T, label string) int64 {
	t.Helper()
	if label == "..." {
		return -1 << 62
	}
	shift := 0
	if i := strings.IndexAny(label, "KMGTPE"); i > 0 {
		shift = 10 * (1 + strings.IndexByte("KMGTPE", label[i]))
		label = label[:i]
	}
	n, err := strconv.ParseInt(label, 10, 64)
	if err != nil {
		t.Fatalf("label %q: %v", label, err)
	}
	return n << shift
}

// sysCall is the kernel's function of a system call.
func sysCall(name string) string {
	if runtime.GOARCH == "arm64" {
		return "__arm64_sys_" + name
	}
	return "__x64_sys_" + name
}

func TestLiveHistOfAKernelFunctionCountsEachCall(t *testing.T) {
	needTracefs(t, "kprobe_events")
	const n = 2000
	for _, test := range []struct {
		name string
		args []string
	}{
		{"by pairs", []string{"--way", "pairs", "-p", "PID", sysCall("pread64")}},
		{"in the kernel", []string{"--way", "triggers", "-p", "PID", sysCall("pread64")}},
		{"in microseconds", []string{"--unit", "us", "-p", "PID", sysCall("pread64")}},
		{"by stack", []string{"-s", "-t", "1", "-p", "PID", sysCall("pread64")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if strings.Contains(test.name, "in the kernel") {
				needTracefs(t, "synthetic_events")
			}
			buckets, text := histOf(t, "pread", n, test.args...)
			if got := sum(buckets); got != n {
				t.Errorf("%d calls, want %d\n%s", got, n, text)
			}
			if n := buckets[0]; n > 0 && test.name != "in microseconds" {
				t.Errorf("%d calls took no time, which the clock of some kernels says\n%s", n, text)
			}
			if test.name == "by stack" && !strings.Contains(text, " => "+sysCall("pread64")+"+") {
				t.Errorf("the stack is not there:\n%s", text)
			}
		})
	}
}

func TestLiveHistOfASleepIsNeverTooShort(t *testing.T) {
	const n = 20
	for _, way := range []string{"pairs", "triggers"} {
		t.Run(way, func(t *testing.T) {
			needTracefs(t, "kprobe_events")
			if way == "triggers" {
				needTracefs(t, "synthetic_events")
			}
			buckets, text := histOf(t, "sleep", n, "--way", way, "-p", "PID", sysCall("clock_nanosleep"))
			long := uint64(0)
			for low, count := range buckets {
				if low >= 8<<20 {
					long += count
				}
			}
			// One that a signal has interrupted is shorter, and goes on.
			if long == 0 || long > n || sum(buckets) < n {
				t.Errorf("%d of %d calls took 8 ms and more, want up to %d\n%s", long, sum(buckets), n, text)
			}
		})
	}
}

func TestLiveHistOfValuesCountsEach(t *testing.T) {
	needTracefs(t, "kprobe_events")
	const n = 2000
	buckets, text := histOf(t, "pread", n, "-p", "PID", "r:"+sysCall("pread64")+" $retval")
	if buckets[1] != n || sum(buckets) != n {
		t.Errorf("want %d times 1:\n%s", n, text)
	}
}

func TestLiveHistOfATracepointsFieldCountsEach(t *testing.T) {
	needTracefs(t, "events/syscalls/sys_enter_pread64")
	const n = 2000
	buckets, text := histOf(t, "pread", n, "-p", "PID", "syscalls:sys_enter_pread64 count")
	if buckets[1] != n || sum(buckets) != n {
		t.Errorf("want %d times 1:\n%s", n, text)
	}
}

// Go code: calls of goroutines that change threads, and whose stacks are moved.
func TestLiveHistOfAGoFunctionCountsEachCall(t *testing.T) {
	needTracefs(t, "uprobe_events")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		work, function string
		n              int
		want           uint64
	}{
		{"spin", "knownDeep", 200, 200 * 20},
		{"fib", "knownFib", 15, 1973},
	} {
		t.Run(test.work, func(t *testing.T) {
			buckets, text := histOf(t, test.work, test.n, "-p", "PID", exe+`:"github.com/ringtap/ringtap/cmd/ringtap.`+test.function+`"`)
			if sum(buckets) != test.want || strings.Contains(text, "not in the histogram") {
				t.Errorf("%d calls, want %d and none left out\n%s", sum(buckets), test.want, text)
			}
		})
	}
}

// However it ends, and while it runs, nobody else's tracefs changes.
func TestLiveHistLeavesNothingInTracefs(t *testing.T) {
	fs := needTracefs(t, "synthetic_events")
	needTracefs(t, "kprobe_events")
	resetRingtap(t) // what others have left
	before := tracefsState(t, fs)
	histOf(t, "pread", 10, "--way", "triggers", "-p", "PID", sysCall("pread64"))
	sameState(t, before, tracefsState(t, fs))
}

// The kernel records the address of a system call's text, and has no such number.
func TestLiveHistComparesTheTextsOfSystemCalls(t *testing.T) {
	needTracefs(t, "events/syscalls")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, filter := range []string{fmt.Sprintf("filename == %q", file), fmt.Sprintf("filename ~ %q", filepath.Dir(file)+"/f*")} {
		var stdout, stderr bytes.Buffer
		args := []string{"ringtap", "hist", "syscalls:sys_enter_openat flags", filter, "--",
			"sh", "-c", "for i in 1 2 3 4 5 6 7; do cat " + file + "; done"}
		code := run(t.Context(), args, &console{stdout: &stdout, stderr: &stderr})
		if code != exitDone || !strings.Contains(stdout.String(), "count: 7\n") {
			t.Errorf("%s: exit %d\n%s%s\nwant 7 calls", filter, code, &stdout, &stderr)
		}
	}
}
