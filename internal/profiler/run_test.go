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

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/pace"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profiler"
	"github.com/ringtap/ringtap/perfevent"
)

// limited is a context for a run that ends by itself.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), pace.Patience(time.Minute))
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
	opts := options(perfevent.Process(busy(t), os.Getpid()), collect.Auto)
	interval := pace.Patience(200 * time.Millisecond) // in which both get to run
	opts.Duration, opts.Interval = interval*7/2, interval
	var intervals []*profile.Profile
	opts.Report = func(p *profile.Profile) error {
		intervals = append(intervals, p)
		return nil
	}
	result, err := profiler.Run(limited(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	whole := result.Whole
	if diff := cmp.Diff(tally(intervals...), tally(whole)); diff != "" {
		t.Errorf("intervals and whole run differ (-intervals +whole):\n%s", diff)
	}

	// The lengths are those asked for, whatever the delays of reading.
	start := whole.Start
	var lengths []time.Duration
	for _, p := range intervals {
		if !p.Start.Equal(start) {
			t.Errorf("an interval starts at %v, the one before ended at %v", p.Start, start)
		}
		start = start.Add(p.Duration)
		lengths = append(lengths, p.Duration)
	}
	want := []time.Duration{interval, interval, interval, interval / 2}
	if diff := cmp.Diff(want, lengths); diff != "" || whole.Duration != opts.Duration {
		t.Errorf("the whole run is of %v, its intervals (-want +got):\n%s", whole.Duration, diff)
	}

	// Every sample that the session handed on is shown or left out.
	a := result.Accounts[0]
	if shown := samples(whole); shown == 0 || a.LeftOut == 0 || a.Received != shown+a.LeftOut {
		t.Errorf("%d samples shown, account %+v", shown, a)
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

func TestLiveAnErrorOfReportEndsTheRun(t *testing.T) {
	needRoot(t)
	before := runtime.NumGoroutine()
	failure := errors.New("no more paper")
	opts := options(perfevent.Process(busy(t)), collect.FP)
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
	for deadline := time.Now().Add(pace.Patience(10 * time.Second)); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
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
	opts := options(perfevent.Process(busy(t)), collect.Auto)
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
	rounds := 200_000 // a second or two
	if pace.Emulated() {
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
	opts := options(perfevent.Process(cmd.Process.Pid), collect.Auto)
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
	opts := options(perfevent.Process(busy(t)), collect.FP)
	opts.Duration, opts.Interval = 2*time.Second, 20*time.Millisecond
	var elapsed atomic.Int64
	opts.Progress = func(p profiler.Progress) {
		if p.Frames == 0 {
			elapsed.Store(int64(p.Elapsed))
		}
	}
	var intervals []*profile.Profile
	opts.Report = func(p *profile.Profile) error {
		if intervals = append(intervals, p); len(intervals) == 1 {
			for deadline := time.Now().Add(30 * time.Second); elapsed.Load() < int64(time.Second); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					return errors.New("reading waits for the report")
				}
			}
		}
		return nil
	}
	result, err := profiler.Run(limited(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	var longest *profile.Profile
	for _, p := range intervals {
		if longest == nil || p.Duration > longest.Duration {
			longest = p
		}
	}
	if longest.Duration <= opts.Interval || longest.Duration%opts.Interval != 0 {
		t.Errorf("the longest interval is of %v, want some times %v", longest.Duration, opts.Interval)
	}
	if !strings.Contains(strings.Join(longest.Notes, "\n"), "could not keep up") {
		t.Errorf("it does not say so: %q", longest.Notes)
	}
	if diff := cmp.Diff(tally(intervals...), tally(result.Whole)); diff != "" {
		t.Errorf("intervals and whole run differ (-intervals +whole):\n%s", diff)
	}
}
