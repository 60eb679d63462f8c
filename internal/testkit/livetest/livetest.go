// Package livetest runs collectors for live tests. These compare the results with what a
// program knows that it did.
package livetest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// Moved holds the sums of a function's columns. For io these are bytes, calls, nanoseconds
// and failed calls.
type Moved [4]uint64

// Program compiles testdata/name.c and returns the path of the program, which tests share.
func Program(t *testing.T, name string, flags ...string) string {
	t.Helper()
	source := name + ".c"
	command := append([]string{"gcc", "-O1", "-o", name, source}, flags...)
	return compiled.Program(t, compiled.Sources(t, filepath.Join("testdata", source)), command...)
}

// Run runs a collector while a command runs, from the command's start to its end. on returns
// the target for the started command. If on is nil, the target is the whole system.
func Run(t *testing.T, cmd *exec.Cmd, on func(*perfevent.Command) perfevent.Target, collector table.Collector, interval time.Duration) (*profile.Profile, profile.Account) {
	t.Helper()
	result := RunAll(t, cmd, on, []table.Collector{collector}, interval)
	return result.Whole, result.Accounts[0]
}

// RunAll is Run for several collectors.
func RunAll(t *testing.T, cmd *exec.Cmd, on func(*perfevent.Command) perfevent.Target, collectors []table.Collector, interval time.Duration) *profiler.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	defer func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%s has not ended within %v", cmd, testlimit.End)
		}
	}()
	opts := profiler.Options{
		Collectors: collectors, Interval: interval,
		Whole: true, Memory: 64 << 20,
		Logger: slog.New(slog.DiscardHandler), DebugFiles: NoDebugFiles,
		Report: func(*profile.Profile) error { return nil },
	}
	if on == nil {
		opts.Target = perfevent.System()
		began := make(chan bool)
		opts.Progress = func(p profiler.Progress) {
			if began != nil {
				close(began)
				began = nil
			}
		}
		waited := make(chan error, 1)
		go func(began <-chan bool) {
			<-began
			if err := cmd.Start(); err != nil {
				waited <- err
			} else {
				testlimit.Limit(t, cmd)
				waited <- cmd.Wait()
			}
			cancel()
		}(began)
		result, err := profiler.Run(ctx, opts)
		if err := errors.Join(err, <-waited); err != nil {
			t.Fatal(err)
		}
		logNotes(t, result)
		return result
	}
	command, err := perfevent.StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer command.Wait()
	defer command.Kill()
	opts.Target = on(command)
	result, err := profiler.Run(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	logNotes(t, result)
	return result
}

// NoDebugFiles opens no debug file, for profiler.Options.DebugFiles. The debug packages of the host
// would give functions of its interpreters and libraries names that tests do not expect.
func NoDebugFiles(path string) (symbols.ReaderAtCloser, int64, error) {
	return nil, 0, os.ErrNotExist
}

// logNotes logs the notes of a run, so that a failing test shows what went wrong in it.
func logNotes(t *testing.T, result *profiler.Result) {
	t.Helper()
	for _, note := range result.Notes {
		t.Log(note)
	}
}

// Only returns a profile with only the rows of a program, found by the name of its file. Other
// processes on the host may have functions with the same names.
func Only(p *profile.Profile, program string) *profile.Profile {
	only := *p
	only.Rows = slices.DeleteFunc(slices.Clone(p.Rows), func(row profile.Row) bool {
		return p.Processes[row.Process].Comm != filepath.Base(program)
	})
	return &only
}

// ByFunction adds up the rows for each function in their user stacks whose name starts with prefix.
func ByFunction(p *profile.Profile, prefix string) map[string]Moved {
	sums := make(map[string]Moved)
	for _, row := range p.Rows {
		if row.User == profile.None {
			continue
		}
		for _, f := range p.Stacks[row.User].Frames {
			if name := p.Frames[f].Name; strings.HasPrefix(name, prefix) {
				sum := sums[name]
				for i := range min(len(sum), len(row.Values)) {
					sum[i] += row.Values[i]
				}
				sums[name] = sum
			}
		}
	}
	return sums
}

// LoopDevice makes a block device of a file and returns its name. Until the test ends, it also
// keeps all CPUs busy: requests may complete on an idle CPU, where some machines trace nothing.
func LoopDevice(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: block devices are everybody's")
	}
	truth.KeepBusy(t)
	file := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 32<<20); err != nil {
		t.Fatal(err)
	}
	free, err := exec.Command("losetup", "-f").Output()
	if err != nil {
		t.Skip("no loop devices")
	}
	name := strings.TrimSpace(string(free))
	if out, err := exec.Command("losetup", name, file).CombinedOutput(); err != nil {
		t.Skipf("no loop devices: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "-d", name).CombinedOutput(); err != nil {
			t.Errorf("losetup: %v: %s", err, out)
		}
	})
	return filepath.Base(name)
}
