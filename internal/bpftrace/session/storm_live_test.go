package session

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// The calls that a storm makes: getpgid(2) of numbers that no process has.
const (
	stormThreads = 3
	stormFirst   = 90001000 // alternates with the one behind it
)

func stormCalls() int {
	if testlimit.Emulated() {
		return 5000
	}
	return 40_000 // which the rings hold
}

// TestStorm is the program that the tests of storms trace. At each line of its standard input it
// makes its calls and prints a line.
func TestStorm(t *testing.T) {
	if os.Getenv("SESSION_STORM") == "" {
		t.Skip("this is a program of the live tests")
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var all sync.WaitGroup
		for range stormThreads {
			all.Go(func() {
				runtime.LockOSThread()
				for i := range stormCalls() {
					_, _, _ = syscall.RawSyscall(syscall.SYS_GETPGID, uintptr(stormFirst+i%2), 0, 0)
				}
			})
		}
		all.Wait()
		fmt.Println("done")
	}
}

// counting is a log that waits for the kernel to count.
type counting struct {
	slog.Handler
	once  sync.Once
	begun chan struct{}
}

func (c *counting) begin() { c.once.Do(func() { close(c.begun) }) }

func (c *counting) hasBegun() bool {
	select {
	case <-c.begun:
		return true
	default:
		return false
	}
}

func (c *counting) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "hits are counted in the kernel" {
		c.begin()
	}
	return nil
}

// stormed runs a program beside a storm, which begins when the program prints "ready". It goes on
// until the kernel counts, if it is to, and once more. Rounds is how often the storm made its calls.
func stormed(t *testing.T, text string, apart bool) (out, books string, rounds int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	storm := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^TestStorm$")
	storm.Env = append(os.Environ(), "SESSION_STORM=1")
	start, err := storm.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := storm.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := storm.Start(); err != nil {
		t.Fatal(err)
	}
	log := &counting{Handler: slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}), begun: make(chan struct{})}
	if !apart {
		log.begin()
	}
	ended := make(chan struct{})
	stdout := &awaited{text: "ready\n", then: func() {
		go func() {
			defer close(ended)
			lines := bufio.NewScanner(said)
			for last := false; !last && ctx.Err() == nil; rounds++ {
				last = rounds > 0 && log.hasBegun()
				if _, err := start.Write([]byte("\n")); err != nil || !lines.Scan() {
					break
				}
			}
			start.Close()
			_ = storm.Wait()
			if apart {
				cancel()
			}
		}()
	}}
	var stderr bytes.Buffer
	if !apart {
		// Of hits that wait when a run is canceled, some may be left out on a busy host. Those of a program
		// that calls exit() are not counted in the kernel.
		text += `t:sched:sched_process_exit / pid == $1 && pid == tid / { exit(); }`
	}
	options := Options{Text: `BEGIN { printf("ready\n"); } ` + text, Params: []string{fmt.Sprint(storm.Process.Pid)}, Quiet: true, Verbose: true, Stdout: stdout, Stderr: &stderr, Logger: slog.New(log)}
	if _, err = Run(ctx, options); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if !strings.Contains(stdout.String(), stdout.text) {
		t.Fatalf("the program has not begun:\n%s", &stderr)
	}
	<-ended
	return stdout.String(), stderr.String(), rounds
}

func TestLiveTheTotalsOfAStormAreWhole(t *testing.T) {
	for _, tt := range []struct {
		name, program string
		apart         bool                    // the kernel counts
		want          func(half int) []string // of that many calls of each number
	}{
		{"by a field", `t:syscalls:sys_enter_getpgid { @[args.pid] = count(); }`, true, func(half int) []string {
			return []string{fmt.Sprintf("@[90001000]: %d\n", half), fmt.Sprintf("@[90001001]: %d\n", half)}
		}},
		{"by a field and the name", `t:syscalls:sys_enter_getpgid { @[comm == "x", args.pid] = count(); }`, true, func(half int) []string {
			return []string{fmt.Sprintf("[false, 90001000]: %d\n", half), fmt.Sprintf("[false, 90001001]: %d\n", half)}
		}},
		{"with a predicate", `t:syscalls:sys_enter_getpgid / args.pid == 90001000 || args.pid == 90001001 / {
			@n[probe] = count(); @sum = sum(args.pid); @least = min(args.pid); @most = max(args.pid); }`, true, func(half int) []string {
			return []string{fmt.Sprintf("sys_enter_getpgid]: %d\n", 2*half), fmt.Sprintf("@sum: %d\n", 2*stormFirst*half+half), "@least: 90001000\n", "@most: 90001001\n"}
		}},
		{"in two clauses", `t:syscalls:sys_enter_getpgid / args.pid == 90001000 / { @a = count(); } t:syscalls:sys_enter_getpgid / args.pid == 90001001 / { @b = count(); }`,
			true, func(half int) []string {
				return []string{fmt.Sprintf("@a: %d\n", half), fmt.Sprintf("@b: %d\n", half)}
			}},
		{"by the process", `t:syscalls:sys_enter_getpgid / args.pid == 90001000 / { @[pid] = count(); }`, false, func(half int) []string { return []string{fmt.Sprintf("]: %d\n", half)} }},
		{"in a histogram", `t:syscalls:sys_enter_getpgid { if (args.pid >= 90001000 && args.pid < 90001002) { @ = lhist(args.pid, 90001000, 90001002, 1); } }`, false, func(half int) []string {
			return []string{fmt.Sprintf("[90001000, 90001001) %d ", half)}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			apart := tt.apart && !testlimit.Emulated() // where little is fast enough to be a storm
			out, books, rounds := stormed(t, tt.program, apart)
			t.Logf("%d rounds\n%s", rounds, books)
			if !regexp.MustCompile(`hits received, \d+ counted in the kernel, 0 lost`).MatchString(books) {
				t.Fatal("hits are lost")
			}
			if counted := !strings.Contains(books, ", 0 counted in the kernel"); counted != apart && counted != tt.apart {
				t.Errorf("the kernel counts: %v", counted)
			}
			spaces := regexp.MustCompile(` +`).ReplaceAllString(out, " ")
			for _, want := range tt.want(rounds * stormThreads * stormCalls() / 2) {
				if !strings.Contains(spaces, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}
