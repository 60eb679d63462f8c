package profiler_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

const probedSource = `
#include <stdlib.h>
#include <time.h>
volatile long sink;
__attribute__((noinline)) long spin(long n) { for (long i = 0; i < n; i++) sink += i; return sink; }
__attribute__((noinline)) long probed(long n) { long r = spin(n); __asm__ volatile(""); return r; }
__attribute__((noinline)) long outer(long n) { long r = probed(n); __asm__ volatile(""); return r; }
int main(int argc, char **argv)
{
	double end = atof(argv[1]) * CLOCKS_PER_SEC;
	while (clock() < end)
		outer(200000);
	return 0;
}
`

// TestLiveAnotherTracersReturnProbeIsSeenThrough has the return of a function probed, as
// another tracer does, while its program is profiled.
func TestLiveAnotherTracersReturnProbeIsSeenThrough(t *testing.T) {
	needRoot(t)
	for _, test := range []struct {
		name, flag string
		seen       bool // the kernel's chain has the real return address
	}{
		{"frame pointers", "-fno-omit-frame-pointer", realReturns(t)},
		{"no frame pointers", "-fomit-frame-pointer", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			truth.OwnLibc(t)
			path := compiled.Copy(t, compiled.Program(t, map[string]string{"probed.c": probedSource}, "gcc", "-O2", test.flag, "-o", "probed", "probed.c"))
			event, err := perfevent.Uprobe(path, functionOffset(t, path, "probed"), 0, true)
			if err != nil {
				t.Skipf("this kernel has no uprobe PMU: %v", err)
			}
			other, err := perfevent.Open(perfevent.System(), []perfevent.Sampling{{Event: event, Period: 1}}, perfevent.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			if err := other.Enable(); err != nil {
				t.Fatal(err)
			}
			testlimit.Enough(t, 500, func(ms int) bool {
				p := profileCommand(t, exec.Command(path, fmt.Sprint(float64(ms)/1000)), stack.Auto)
				var all, whole, hidden uint64
				for _, row := range p.Rows {
					if row.User == profile.None {
						continue
					}
					stack := names(p, row.User)
					at := slices.Index(stack, "probed")
					if at < 0 || at+1 == len(stack) {
						continue // elsewhere, or on its way in or out
					}
					all += row.Values[0]
					switch {
					case at >= 2 && stack[at-1] == "outer" && stack[at-2] == "main":
						whole += row.Values[0]
					case at == 1 && stack[0] == "[uretprobe]":
						hidden += row.Values[0]
					default:
						t.Errorf("%q", stack)
					}
				}
				noted := slices.ContainsFunc(p.AllNotes(), func(note string) bool { return strings.Contains(note, "[uretprobe]") })
				if hidden > 0 && !noted {
					t.Errorf("%d stacks end at the return probe, and no note says so", hidden)
				}
				t.Logf("of %d stacks %d are whole and %d end at the return probe", all, whole, hidden)
				return all >= 25 && float64(map[bool]uint64{true: whole, false: hidden}[test.seen]) >= 0.93*float64(all)
			})
		})
	}
}

// realReturns says whether the kernel's chains have the addresses that return probes
// hide: since Linux 6.11.
func realReturns(t *testing.T) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	major, minor, ok := strings.Cut(unix.ByteSliceToString(name.Release[:]), ".")
	if !ok || len(major) != 1 {
		return ok
	}
	minor, _, _ = strings.Cut(minor, ".")
	return major > "6" || major == "6" && len(minor) > 1 && minor >= "11"
}

// functionOffset is where a function begins in a file.
func functionOffset(t *testing.T, path, function string) uint64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := symbols.Open(f, info.Size(), symbols.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := file.Functions()
	for _, found := range all {
		if found.Name == function {
			return found.Offset
		}
	}
	t.Fatalf("%s is not in %s: %v", function, path, err)
	return 0
}
