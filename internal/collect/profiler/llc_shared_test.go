package profiler_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/llc"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/perfevent"
)

// spinSource waits for a line, keeps a CPU busy for a second and a half of its own
// time, and says how long it did.
const spinSource = `
#include <stdio.h>
#include <time.h>
static long now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec * 1000000000l + t.tv_nsec; }
int main(void) {
	getchar();
	long begin = now(), took;
	while ((took = now() - begin) < 1500000000l)
		;
	printf("%ld\n", took);
	return 0;
}
`

// Two counters beside fourteen others on a CPU that has seven: what they counted is
// scaled to what a counter that is alone counts, cycles per nanosecond. All are of the CPUs:
// those go before threads' counters, so that beside these llc never has to wait.
func TestLiveCountersThatTakeTurnsAreScaled(t *testing.T) {
	needRoot(t)
	testlimit.Thorough(t)
	cycles := perfevent.CPUCycles()
	counters, err := perfevent.OpenCounters(perfevent.Thread(os.Getpid()), []perfevent.Event{cycles}, perfevent.Options{})
	if errors.Is(err, perfevent.ErrNoEvent) {
		t.Skip("no hardware counters")
	}
	if err != nil {
		t.Fatal(err)
	}
	counters.Close()
	program := filepath.Join(t.TempDir(), "spin")
	if err := os.WriteFile(program+".c", []byte(spinSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-static", "-O1", "-o", program, program+".c").CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	alone := spin(t, program, 0)
	shared := spin(t, program, 14)
	if alone.counted < 0.95 || shared.counted > 0.8 {
		t.Errorf("alone the counter counted %.2f of the time, with others %.2f", alone.counted, shared.counted)
	}
	// Emulated counters interrupt late, and not as often as they should.
	if ratio := shared.rate / alone.rate; ratio < 0.6 || ratio > 1.6 {
		t.Errorf("%.3f cycles a nanosecond with other counters, %.3f alone", shared.rate, alone.rate)
	}
	t.Logf("alone %+v, beside others %+v", alone, shared)
}

// spun is what a run says of the first counter.
type spun struct {
	rate    float64 // cycles per nanosecond of the program
	counted float64 // share of the time in which it counted
}

// spin runs the program beside so many counters.
func spin(t *testing.T, program string, others int) spun {
	t.Helper()
	cmd := exec.Command(program)
	in, out := truth.Start(t, cmd)
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	target := perfevent.Process(cmd.Process.Pid)
	if others > 0 {
		beside, err := perfevent.OpenCounters(perfevent.System(), slices.Repeat([]perfevent.Event{perfevent.CPUCycles()}, others), perfevent.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer beside.Close()
		if err := beside.Enable(); err != nil {
			t.Fatal(err)
		}
	}
	collector := llc.New(5000000, stack.Stacks{Kernel: true})
	collector.Misses, collector.References = perfevent.CPUCycles(), perfevent.CPUCycles()
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	var took int64
	began := false
	result, err := profiler.Run(ctx, profiler.Options{
		Target: target, Collectors: []table.Collector{collector}, Whole: true, Memory: 64 << 20,
		Report: func(*profile.Profile) error { return nil },
		Progress: func(profiler.Progress) {
			if began {
				return
			}
			began = true // the events are enabled
			fmt.Fprintln(in)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &took); err != nil {
		t.Fatal(err)
	}
	var sum uint64
	for _, row := range result.Whole.Rows {
		sum += row.Values[0]
	}
	misses, _ := collector.Shared()
	return spun{float64(sum) / float64(took), float64(misses.Counted) / float64(misses.Enabled)}
}
