package offcpu_test

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/offcpu"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/snapshot"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

func TestLiveThreadsThatWaitedBeforeTheRunHaveTheirStacks(t *testing.T) {
	program := compiled.Program(t, compiled.Sources(t, filepath.Join("testdata", "initial.c")),
		"gcc", "-O1", "-pthread", "-o", "initial", "initial.c")
	waiter := livetest.Start(t, exec.Command(program))
	defer waiter.Close()
	pid := waiter.PID
	awaitSleepers(t, pid, 3)

	fs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	format, err := fs.Format("sched", "sched_switch")
	if err != nil {
		t.Fatal(err)
	}
	collector, err := offcpu.New(offcpu.Options{Switch: format, Watched: []int{pid}, Stacks: stack.Stacks{User: true, Kernel: true},
		Waits: func(p *process.Table) offcpu.WaitReader { return snapshot.NewWaits(p) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	result, err := profiler.Run(ctx, profiler.Options{
		Collectors: []table.Collector{collector}, Target: perfevent.Process(pid), Whole: true, Memory: 64 << 20,
		Logger: slog.New(slog.DiscardHandler), Report: func(*profile.Profile) error { return nil },
		Armed: func() error { // the events are enabled
			defer cancel()
			return waiter.BeginUntil("woken")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := result.Whole
	counts := make(map[string]uint64)
	for i := range p.Rows {
		row := &p.Rows[i]
		for _, id := range []int{row.User, row.Kernel} {
			if id < 0 {
				continue
			}
			for _, f := range p.Stacks[id].Frames {
				counts[p.Frames[f].Name] += row.Values[1]
			}
		}
	}
	for _, name := range []string{"first_wait", "hangs", "main"} {
		if counts[name] != 1 {
			t.Errorf("%d waits are in %s, want the one since before the run", counts[name], name)
		}
	}
	for name := range counts {
		if strings.HasPrefix(name, "[waits since") {
			t.Errorf("a wait has no stack: %v", counts)
		}
	}
}

// awaitSleepers waits until a process has n threads, all of them asleep.
func awaitSleepers(t *testing.T, pid, n int) {
	t.Helper()
	host := process.Host{}
	for end := time.Now().Add(testlimit.End); ; time.Sleep(time.Millisecond) {
		tids, err := host.Threads(pid)
		asleep := err == nil && len(tids) == n && !slices.ContainsFunc(tids, func(tid int) bool {
			text, err := host.Read(pid, fmt.Sprintf("task/%d/stat", tid))
			return err != nil || !strings.Contains(string(text), ") S ")
		})
		if asleep {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("of the threads %v of process %d not %d are asleep: %v", tids, pid, n, err)
		}
	}
}
