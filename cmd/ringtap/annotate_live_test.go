package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// scriptsPlace is the address and the function of a sample in the text of ringtap script -F ip,sym.
var scriptsPlace = regexp.MustCompile(`(?m)^ *([0-9a-f]+) (\S+)$`)

// The program spends its time in the kernel. The instructions of the hottest function have the samples
// that ringtap script prints.
func TestLiveAKernelFunctionIsAnnotatedFromItsMemory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: reads the kernel's memory")
	}
	if _, err := os.Stat("/proc/kcore"); err != nil {
		t.Skip("this kernel has no /proc/kcore (CONFIG_PROC_KCORE)")
	}
	t.Setenv("HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "perf.data")
	if code, _, stderr := called(t, "ringtap", "record", "-e", "cpu-clock", "-F", "999", "-o", path,
		"dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=4000"); code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	code, places, stderr := called(t, "ringtap", "script", "-G", "-F", "ip,sym", path)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	code, text, stderr := called(t, "ringtap", "annotate", "--all", "-i", path)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	function, _, isKernel := strings.Cut(text, " ([kernel]): ")
	if !isKernel {
		t.Fatalf("the hottest function is not of the kernel:\n%.300s\n%s", text, stderr)
	}
	samples, sum := make(map[string]int), 0
	for _, m := range scriptsPlace.FindAllStringSubmatch(places, -1) {
		if m[2] == function {
			samples[m[1]]++
			sum++
		}
	}
	got := percentages(t, text, ringtapsInstruction)
	for address, n := range samples {
		percent, ok := got[address]
		if want := 100 * float64(n) / float64(sum); !ok || percent < want-0.01 || percent > want+0.01 {
			t.Errorf("%s of %s: %.2f%% (%v), want %.2f%%", address, function, percent, ok, want)
		}
	}
	if sum < 10 {
		t.Errorf("%s has %d samples:\n%s", function, sum, places)
	}
}
