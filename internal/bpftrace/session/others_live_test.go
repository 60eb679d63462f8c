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
	"strings"
	"syscall"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// burst is how many calls TestBursts makes at a line.
const burst = 20_000

// TestBursts is a program whose one thread makes calls at each line of its standard input, and
// answers.
func TestBursts(t *testing.T) {
	if os.Getenv("SESSION_STORM") == "" {
		t.Skip("this is a program of the live tests")
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println("made") {
		for range burst {
			_, _, _ = syscall.RawSyscall(syscall.SYS_GETPGID, stormFirst, 0, 0)
		}
	}
}

// started starts one of the programs of these tests.
func started(t *testing.T, program string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	cmd = exec.Command("/proc/self/exe", "-test.run=^"+program+"$")
	cmd.Env = append(os.Environ(), "SESSION_STORM=1")
	in, inErr := cmd.StdinPipe()
	pipe, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, in, bufio.NewReader(pipe)
}

// While the kernel leaves out the thread of one storm, those of the process that is asked for are
// born and make their own.
func TestLiveAProcessBesideTheStormOfAnotherLosesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	wanted, start, calls := started(t, "TestStorm")
	other, bursts, made := started(t, "TestBursts")
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	log := &counting{Handler: slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}), begun: make(chan struct{})}
	if testlimit.Emulated() { // where little is fast enough to be a storm
		log.begin()
	}
	storm := func() {
		_, _ = io.WriteString(bursts, "\n")
		_, _ = made.ReadString('\n')
	}
	stdout := &awaited{text: "ready\n", then: func() {
		go func() {
			// On a busy host a burst may be too slow for a storm.
			for begun := false; !begun && ctx.Err() == nil; {
				storm()
				select {
				case <-log.begun:
					begun = true
				default:
				}
			}
			_, _ = io.WriteString(start, "\n\n")
			_ = start.Close()
			for range 5 {
				storm()
			}
			_, _ = io.Copy(io.Discard, calls)
			_ = bursts.Close()
			_, _ = wanted.Wait(), other.Wait()
		}()
	}}
	var stderr bytes.Buffer
	_, err := Run(ctx, Options{
		Text: `BEGIN { printf("ready\n"); } t:syscalls:sys_enter_getpgid / pid == $1 && args.pid > 90000000 / { @[args.pid] = count(); }
			t:sched:sched_process_exit / (pid == $1 || pid == $2) && pid == tid / { @ended++; if (@ended == 2) { exit(); } }`,
		Params: []string{fmt.Sprint(wanted.Process.Pid), fmt.Sprint(other.Process.Pid)},
		Quiet:  true, Verbose: true, Stdout: stdout, Stderr: &stderr, Logger: slog.New(log),
	})
	if err != nil || ctx.Err() != nil {
		t.Fatalf("%v, %v\n%s", err, ctx.Err(), &stderr)
	}
	t.Log(&stderr)
	if !strings.Contains(stderr.String(), "counted in the kernel, 0 lost,") {
		t.Fatal("hits are lost")
	}
	of := stormThreads * stormCalls() // of each number
	for _, want := range []string{fmt.Sprintf("@[90001000]: %d\n", of), fmt.Sprintf("@[90001001]: %d\n", of)} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}
