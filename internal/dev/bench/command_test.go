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

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
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

func TestTheEndOfTheTimeEndsTheWholeGroupAndKeepsWhatItUsed(t *testing.T) {
	if err := adoptOrphans(); err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	script := "while :; do :; done & echo $! >" + pidFile + ".new; mv " + pidFile + ".new " + pidFile + "; sleep 1000"
	const ticks = 5 // of the hundred in a second of CPU time
	ctx, cancel := context.WithCancel(t.Context())
	child := make(chan string, 1)
	go func() {
		defer cancel()
		child <- awaitBusy(t, pidFile, ticks)
	}()
	r, err := run(ctx, nil, "sh", "-c", script)
	pid := <-child
	if err == nil {
		t.Error("what was ended has not failed")
	}
	if r.cpu < ticks*10*time.Millisecond {
		t.Errorf("CPU time %v lacks that of the busy child", r.cpu)
	}
	if _, err := os.Stat("/proc/" + pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("process %s of the group is still there: %v", pid, err)
	}
}

// awaitBusy waits until the process whose id is in a file has used so many ticks of
// CPU time, and returns its id.
func awaitBusy(t *testing.T, pidFile string, ticks int) (pid string) {
	for end := time.Now().Add(testlimit.End); time.Now().Before(end); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(pidFile)
		if err != nil {
			continue // it is not there yet
		}
		pid = strings.TrimSpace(string(text))
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			break
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		const utime = 14 - 3 // field 14 of proc_pid_stat(5), the state is field 3
		if fields := strings.Fields(rest); len(fields) > utime {
			if used, _ := strconv.Atoi(fields[utime]); used >= ticks {
				return pid
			}
		}
	}
	t.Error("the child does not use the CPU")
	return pid
}

func TestTheTimeLimitIsNoError(t *testing.T) {
	if _, cut, err := runAtMost(t.Context(), 10*time.Millisecond, nil, "sleep", "1000"); err != nil || !cut {
		t.Errorf("runAtMost: cut %t, %v; want cut without an error", cut, err)
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
