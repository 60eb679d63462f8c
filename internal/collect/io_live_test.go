package collect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/compiled"
	"github.com/ringtap/ringtap/internal/pace"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profiler"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// moved is what a function moved: bytes, calls, nanoseconds, failed calls.
type moved [4]uint64

func TestLiveIOIsWhatTheProgramMovedByEverySystemCall(t *testing.T) {
	for _, test := range []struct {
		name     string
		target   func(*perfevent.Command) perfevent.Target
		interval time.Duration
	}{
		{"a command", perfevent.Started, 0},
		{"a command in windows of 20 ms", perfevent.Started, 20 * time.Millisecond},
		{"the whole system", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := buildC(t, "io", "-pthread")
			formats := ioFormats(t)
			var out bytes.Buffer
			var whole *profile.Profile
			pace.Lossless(t, func() uint64 {
				out.Reset()
				cmd := exec.Command(program, fmt.Sprint(pace.Calls(100)))
				cmd.Stdout = &out
				collector, err := collect.NewIO(formats, collect.IOByNothing, stack.Stacks{User: true, Unwind: stack.Auto, Copy: 1024})
				if err != nil {
					t.Fatal(err)
				}
				var account profile.Account
				whole, account = runOn(t, cmd, test.target, collector, test.interval)
				return account.Lost
			})
			got := byFunction(whole, "do_")
			for line := range strings.Lines(out.String()) {
				var name string
				var want moved
				if _, err := fmt.Sscan(line, &name, &want[0], &want[1], &want[3], &want[2]); err != nil {
					t.Fatal(line, err)
				}
				is := got["do_"+name]
				if formats.Sent == nil && strings.HasSuffix(name, "mmsg") {
					want[0] = 0
				}
				if is[0] != want[0] || is[1] != want[1] || is[3] != want[3] {
					t.Errorf("%s: %d bytes in %d calls and %d failed, want %d in %d and %d", name, is[0], is[1], is[3], want[0], want[1], want[3])
				}
				if is[2] > want[2] || is[2] == 0 {
					t.Errorf("%s: %d ns inside, by the clock around the calls %d", name, is[2], want[2])
				}
				t.Logf("%s: %d ns inside, by the program's clock %d", name, is[2], want[2])
			}
		})
	}
}

// ioFormats are the tracepoints of io.
func ioFormats(t *testing.T) (formats collect.IOFormats) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: system calls of others are watched")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	for name, into := range map[[2]string]**ftrace.Format{
		{"raw_syscalls", "sys_enter"}: &formats.Enter,
		{"raw_syscalls", "sys_exit"}:  &formats.Exit,
		{"sock", "sock_send_length"}:  &formats.Sent,
		{"sock", "sock_recv_length"}:  &formats.Received,
	} {
		*into, err = tracefs.Format(name[0], name[1])
		if err != nil && (name[0] != "sock" || !errors.Is(err, fs.ErrNotExist)) {
			t.Fatal(err)
		}
	}
	return formats
}

// buildC compiles a program of testdata and returns its path, which is shared.
func buildC(t *testing.T, name string, flags ...string) string {
	t.Helper()
	source := name + ".c"
	command := append([]string{"gcc", "-O1", "-o", name, source}, flags...)
	return compiled.Program(t, compiled.Sources(t, filepath.Join("testdata", source)), command...)
}

// runOn runs a collector while a command runs, from its beginning to its end.
func runOn(t *testing.T, cmd *exec.Cmd, on func(*perfevent.Command) perfevent.Target, collector collect.Collector, interval time.Duration) (*profile.Profile, profile.Account) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), pace.End)
	defer cancel()
	defer func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%s has not ended within %v", cmd, pace.End)
		}
	}()
	opts := profiler.Options{
		Collectors: []collect.Collector{collector}, Interval: interval,
		Whole: true, Memory: 64 << 20,
		Logger: slog.New(slog.DiscardHandler),
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
				pace.Limit(t, cmd)
				waited <- cmd.Wait()
			}
			cancel()
		}(began)
		result, err := profiler.Run(ctx, opts)
		if err := errors.Join(err, <-waited); err != nil {
			t.Fatal(err)
		}
		return result.Whole, result.Accounts[0]
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
	return result.Whole, result.Accounts[0]
}

// byFunction adds up the rows by the function in them whose name begins so.
func byFunction(p *profile.Profile, prefix string) map[string]moved {
	sums := make(map[string]moved)
	for _, row := range p.Rows {
		if row.User == profile.None {
			continue
		}
		for _, f := range p.Stacks[row.User].Frames {
			if name := p.Frames[f].Name; strings.HasPrefix(name, prefix) {
				sum := sums[name]
				for i := range row.Values {
					sum[i] += row.Values[i]
				}
				sums[name] = sum
			}
		}
	}
	return sums
}
