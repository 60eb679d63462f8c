package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/truth"
)

// busy is a program that uses CPU time in children which it waits for.
func busy(t *testing.T) truth.Built { return truth.Named("children-nofp").Build(t) }

func TestRunCountsTheCPUTimeOfChildren(t *testing.T) {
	r, err := run(t.Context(), nil, busy(t).Path, "0.3")
	if err != nil {
		t.Fatal(err)
	}
	if r.cpu < 200*time.Millisecond {
		t.Errorf("CPU time %v, want what the children used, 300ms", r.cpu)
	}
	if r.peak < 100<<10 || r.peak > 1<<30 {
		t.Errorf("peak memory %d bytes is no process's", r.peak)
	}
	if !strings.HasPrefix(string(r.stdout), "main\n") {
		t.Errorf("output %q", r.stdout)
	}
}

func TestRunQuotesWhatAFailedCommandSaid(t *testing.T) {
	_, err := run(t.Context(), nil, "sh", "-c", "echo the disk is full >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("run = %v; want an error with the command's message", err)
	}
}

func TestTheTimeLimitEndsTheWholeGroupAndKeepsWhatItUsed(t *testing.T) {
	if err := adoptOrphans(); err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	script := "while :; do :; done & echo $! >" + pidFile + "; sleep 1000"
	r, cut, err := runAtMost(t.Context(), 500*time.Millisecond, nil, "sh", "-c", script)
	if err != nil || !cut {
		t.Fatalf("runAtMost: cut %t, %v; want cut without an error", cut, err)
	}
	if r.cpu < 20*time.Millisecond {
		t.Errorf("CPU time %v lacks that of the busy child", r.cpu)
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("process %d of the group is still there: %v", pid, err)
	}
}

func TestAnErrorBeforeTheTimeLimitIsAnError(t *testing.T) {
	if _, cut, err := runAtMost(t.Context(), time.Minute, nil, "sh", "-c", "exit 1"); cut || err == nil {
		t.Errorf("runAtMost: cut %t, %v; want an error", cut, err)
	}
}

func TestTheWorkloadEndsWithTheRecording(t *testing.T) {
	built := busy(t)
	var commands []*exec.Cmd
	w := workload{commands: func() []*exec.Cmd {
		commands = []*exec.Cmd{built.Command(60)}
		return commands
	}}
	if err := w.during(func() error {
		if commands[0].ProcessState != nil {
			t.Error("the workload is gone while it is recorded")
		}
		return context.Cause(t.Context())
	}); err != nil {
		t.Fatal(err)
	}
	if commands[0].ProcessState == nil {
		t.Error("the workload still runs")
	}
}
