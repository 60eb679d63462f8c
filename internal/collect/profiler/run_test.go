package profiler_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// limited is a context for a run that ends by itself.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	t.Cleanup(func() {
		if ctx.Err() != nil {
			t.Error("the run did not end by itself")
		}
		cancel()
	})
	return ctx
}

// busy is a shell that uses the CPU for as long as it lives.
func busy(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// whenItBegins returns a channel that is closed once a run with these options records,
// or keeps what came before an alarm: rings are read only after events were enabled.
func whenItBegins(opts *profiler.Options) <-chan struct{} {
	begins := make(chan struct{})
	var once sync.Once
	opts.Progress = func(profiler.Progress) { once.Do(func() { close(begins) }) }
	return begins
}

// tally adds up the samples of profiles by process and names, which unlike
// indexes mean the same in all of them.
func tally(profiles ...*profile.Profile) map[string]uint64 {
	all := make(map[string]uint64)
	for _, p := range profiles {
		for _, row := range p.Rows {
			q := p.Processes[row.Process]
			key := fmt.Sprint(q.PID, " ", q.Comm)
			for _, stack := range []int{row.User, row.Kernel} {
				key += "|"
				if stack == profile.None {
					continue
				}
				for _, f := range p.Stacks[stack].Frames {
					key += fmt.Sprintf(" %s+%#x", p.Frames[f].Name, p.Frames[f].Address)
				}
			}
			all[key] += row.Values[0]
		}
	}
	return all
}

func samples(p *profile.Profile) (total uint64) {
	for _, n := range tally(p) {
		total += n
	}
	return total
}

func TestLiveTheIntervalsAddUpToTheWholeRun(t *testing.T) {
	needRoot(t)
	// Its own process, which symbolizes, is sampled and left out.
	opts := options(perfevent.Process(busy(t), os.Getpid()), stack.Auto)
	opts.Interval = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	var intervals []*profile.Profile
	var shown, leftOut uint64
	opts.Report = func(p *profile.Profile) error {
		intervals = append(intervals, p)
		shown, leftOut = shown+samples(p), leftOut+p.Accounts[0].LeftOut
		if len(intervals) >= 4 && shown > 0 && leftOut > 0 {
			cancel()
		}
		return nil
	}
	result, err := profiler.Run(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	whole := result.Whole
	if diff := cmp.Diff(tally(intervals...), tally(whole)); diff != "" {
		t.Errorf("intervals and whole run differ (-intervals +whole):\n%s", diff)
	}
	checkStarts(t, whole, intervals, opts.Interval)

	// Every sample that the session handed on is shown or left out. Those that are left
	// out in what is no interval any more are in none.
	a, last := result.Accounts[0], intervals[len(intervals)-1]
	ended := last.Start.Add(last.Duration).Equal(whole.Start.Add(whole.Duration))
	if all := samples(whole); all != shown || a.Received != shown+a.LeftOut || a.LeftOut < leftOut || ended && a.LeftOut != leftOut {
		t.Errorf("%d samples in the whole run, %d shown and %d left out in intervals, account %+v; the last interval is the run's end: %t", all, shown, leftOut, a, ended)
	}
	if diff := cmp.Diff([]profile.Account{a}, whole.Accounts); diff != "" {
		t.Errorf("the whole profile has other accounts than the run:\n%s", diff)
	}
	for _, p := range intervals {
		if got := p.Accounts[0]; got.Received != samples(p)+got.LeftOut {
			t.Errorf("%d samples shown, account %+v", samples(p), got)
		}
	}
}

// checkStarts checks that each interval starts where the one before ended. What is left
// when a run is canceled is no interval if it is a tenth of one, and empty.
func checkStarts(t *testing.T, whole *profile.Profile, intervals []*profile.Profile, interval time.Duration) {
	t.Helper()
	start := whole.Start
	for _, p := range intervals {
		if !p.Start.Equal(start) {
			t.Errorf("an interval starts at %v, the one before ended at %v", p.Start, start)
		}
		start = start.Add(p.Duration)
	}
	if left := whole.Start.Add(whole.Duration).Sub(start); left < 0 || left > interval/10 {
		t.Errorf("the last interval ends at %v, the whole run of %v after %v", start, whole.Start, whole.Duration)
	}
}

// The lengths are those asked for, or some times as long, whatever the delays of
// reading and reporting.
func TestLiveIntervalsAreAsLongAsWasAskedFor(t *testing.T) {
	needRoot(t)
	opts := options(perfevent.Process(busy(t)), stack.Auto)
	opts.Interval = 100 * time.Millisecond
	opts.Duration = opts.Interval * 7 / 2
	var intervals []*profile.Profile
	opts.Report = func(p *profile.Profile) error {
		intervals = append(intervals, p)
		return nil
	}
	result, err := profiler.Run(limited(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	checkStarts(t, result.Whole, intervals, opts.Interval)
	if result.Whole.Duration != opts.Duration {
		t.Errorf("the whole run is of %v, want %v", result.Whole.Duration, opts.Duration)
	}
	end := time.Duration(0)
	for _, p := range intervals {
		if end += p.Duration; end%opts.Interval != 0 && end != opts.Duration {
			t.Errorf("an interval ends after %v, want a multiple of %v", end, opts.Interval)
		}
	}
}

func TestLiveAnErrorOfReportEndsTheRun(t *testing.T) {
	needRoot(t)
	before := runtime.NumGoroutine()
	failure := errors.New("no more paper")
	opts := options(perfevent.Process(busy(t)), stack.FP)
	opts.Interval = 50 * time.Millisecond
	reports := 0
	opts.Report = func(*profile.Profile) error {
		if reports++; reports == 2 {
			return failure
		}
		return nil
	}
	result, err := profiler.Run(limited(t), opts)
	if !errors.Is(err, failure) || result != nil || reports != 2 {
		t.Errorf("result %v, error %v after %d reports; want that of the second", result, err, reports)
	}
	// A goroutine is counted until the runtime has put it away.
	for deadline := time.Now().Add(testlimit.End); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before the run:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

func TestLiveCancelEndsTheRunWithAFullReport(t *testing.T) {
	needRoot(t)
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	opts := options(perfevent.Process(busy(t)), stack.Auto)
	opts.Interval = 100 * time.Millisecond
	var reported uint64
	opts.Report = func(p *profile.Profile) error {
		if reported += samples(p); reported > 0 {
			cancel()
		}
		return nil
	}
	result, err := profiler.Run(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	if got := samples(result.Whole); got != reported || got == 0 {
		t.Errorf("the whole run has %d samples, its reports %d", got, reported)
	}
}

func TestLiveTheEndOfTheTargetEndsTheRun(t *testing.T) {
	needRoot(t)
	rounds := 50_000 // some tenths of a second
	if testlimit.Emulated() {
		rounds /= 10
	}
	cmd := exec.Command("sh", "-c", `read go; i=0; while [ $i -lt "$0" ]; do i=$((i+1)); done`, strconv.Itoa(rounds))
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed, if the run failed before it
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	opts := options(perfevent.Process(cmd.Process.Pid), stack.Auto)
	begins := whenItBegins(&opts)
	go func() {
		<-begins
		if _, err := fmt.Fprintln(input); err != nil {
			t.Error(err)
		}
	}()
	result, err := profiler.Run(limited(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range result.Whole.Processes {
		if q.PID != cmd.Process.Pid || q.Comm != "sh" {
			t.Errorf("process %+v in the profile of %d", q, cmd.Process.Pid)
		}
	}
	if samples(result.Whole) == 0 {
		t.Error("no samples")
	}
}

// While a report waits for its reader the rings are
// read all the same, and what comes meanwhile is reported in longer intervals.
func TestLiveASlowReportDoesNotHoldUpReading(t *testing.T) {
	needRoot(t)
	opts := options(perfevent.Process(busy(t)), stack.FP)
	opts.Interval = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	var elapsed atomic.Int64
	opts.Progress = func(p profiler.Progress) {
		if p.Frames == 0 {
			elapsed.Store(int64(p.Elapsed))
		}
	}
	var intervals []*profile.Profile
	var longer *profile.Profile // the first of more than one interval
	opts.Report = func(p *profile.Profile) error {
		if intervals = append(intervals, p); len(intervals) == 1 {
			for deadline := time.Now().Add(time.Minute); elapsed.Load() < int64(10*opts.Interval); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					return errors.New("reading waits for the report")
				}
			}
		}
		if longer == nil && p.Duration > opts.Interval {
			longer = p
			cancel()
		}
		return nil
	}
	result, err := profiler.Run(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	if longer == nil || longer.Duration%opts.Interval != 0 {
		t.Fatalf("the first longer interval is %+v, want one of some times %v", longer, opts.Interval)
	}
	if !strings.Contains(strings.Join(longer.Notes, "\n"), "could not keep up") {
		t.Errorf("it does not say so: %q", longer.Notes)
	}
	if diff := cmp.Diff(tally(intervals...), tally(result.Whole)); diff != "" {
		t.Errorf("intervals and whole run differ (-intervals +whole):\n%s", diff)
	}
}
