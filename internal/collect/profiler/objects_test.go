package profiler_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/perfevent"
)

// The file that a process runs need not be there any more, nor ever have been
// in our part of the file system.
func TestLiveProgramsOutOfReachAreSymbolized(t *testing.T) {
	needRoot(t)
	const elsewhere = "it lives in another mount namespace"
	built := truth.Named("c-O2-nofp-nopie").Build(t)
	for name, start := range map[string]func(*testing.T, truth.Built) *exec.Cmd{
		"its file is deleted":             func(t *testing.T, b truth.Built) *exec.Cmd { return startDeleted(t, b, nil) },
		"its file is replaced by another": func(t *testing.T, b truth.Built) *exec.Cmd { return startDeleted(t, b, []byte("#!/bin/sh\n")) },
		elsewhere:                         startElsewhere,
	} {
		if testlimit.Emulated() && name != elsewhere {
			continue // internal/process reads such files there
		}
		t.Run(name, func(t *testing.T) {
			cmd := start(t, built)
			defer cmd.Wait()
			defer cmd.Process.Kill()
			opts := options(perfevent.System(), stack.Auto)
			opts.Interval = 500 * time.Millisecond
			ctx, cancel := context.WithCancel(limited(t))
			defer cancel()
			seen := uint64(0)
			opts.Report = func(p *profile.Profile) error {
				for _, row := range p.Rows {
					if row.User != profile.None && isHidden(p, row) {
						seen += row.Values[0]
					}
				}
				if seen >= 300 {
					cancel()
				}
				return nil
			}
			result, err := profiler.Run(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			p := result.Whole
			ours := p.Rows[:0]
			for _, row := range p.Rows {
				if isHidden(p, row) {
					ours = append(ours, row)
				}
			}
			p.Rows = ours
			if share := matching(t, p, built); share < enough(built) {
				t.Errorf("%.1f %% of the samples have the program's chain, want %.0f %%", 100*share, 100*enough(built))
			}
		})
	}
}

// isHidden reports whether a row is of the program, which is called so there.
func isHidden(p *profile.Profile, row profile.Row) bool {
	return strings.HasPrefix(p.Processes[row.Process].Comm, "hidden")
}

// startDeleted starts a copy of the program, waits until it runs, and then takes
// the file away, or puts another in its place.
func startDeleted(t *testing.T, built truth.Built, instead []byte) *exec.Cmd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hidden")
	copyFile(t, built.Path, path)
	cmd := exec.Command(path, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if instead != nil {
		if err := os.WriteFile(path, instead, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return cmd
}

// startElsewhere starts a copy of the program from a file system that only its
// own mount namespace has.
func startElsewhere(t *testing.T, built truth.Built) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", `mount -t tmpfs none "$1" && cp "$2" "$1/hidden" && exec "$1/hidden" 60`, "sh", dir, built.Path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(testlimit.Patience(time.Minute)); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid)); err == nil && string(comm) == "hidden\n" {
			return cmd
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	t.Fatal("the program in another mount namespace did not start")
	return nil
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
