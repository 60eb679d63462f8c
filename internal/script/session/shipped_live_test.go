package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/scripts"
)

func TestLiveEveryShippedProgramAttaches(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range scripts.All() {
		t.Run(p.Name, func(t *testing.T) {
			parsed, err := syntax.Parse(p.Name, p.Text, syntax.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, probe := range parsed.Probes {
				for _, point := range probe.Points {
					if point.Provider != "tracepoint" || missingProbes(parsed) == "ignore" {
						continue
					}
					if _, err := tracefs.Format(point.Args[0], point.Args[1]); errors.Is(err, fs.ErrNotExist) {
						t.Skipf("this kernel has no %s", point.Text)
					}
				}
			}
			named := []map[string]string{nil}
			for _, o := range p.Options {
				value := map[scripts.Kind]string{scripts.Flag: "true", scripts.Number: "7", scripts.Text: "text"}[o.Kind]
				named = append(named, map[string]string{o.Name: value})
			}
			for _, options := range named {
				var stdout, stderr bytes.Buffer
				code, err := Run(t.Context(), Options{
					Text: p.Text, File: p.Name + ".bt", Named: options, DryRun: true, Quiet: true, Stdout: &stdout, Stderr: &stderr,
				})
				if err != nil || code != 0 || stderr.Len() > 0 {
					t.Errorf("%v: exit code %d, %v\n%s", options, code, err, &stderr)
				}
			}
		})
	}
}

// known is how many files the known process opens and how many signals it sends.
const known = 100

// knownCall is a function that the known process calls.
//
//go:noinline
func knownCall(n int) int { return min(n+1, 1) }

// TestKnownProcess is the process that the shipped programs watch. It begins when it gets a
// line, says when it is done, and stays until its standard input ends: what it names can be read.
func TestKnownProcess(t *testing.T) {
	if os.Getenv("SESSION_KNOWN") == "" {
		t.Skip("this is a program of the live tests")
	}
	var paths []string
	for i := range known {
		paths = append(paths, fmt.Sprintf("/nonexistent/of-the-tests-of-shipped-programs/%d", i))
	}
	input := bufio.NewReader(os.Stdin)
	_, _ = input.ReadString('\n')
	zeros, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zeros.Close()
	buf, calls := make([]byte, 512), 0
	for i, path := range paths {
		_, _ = unix.Open(path, unix.O_RDONLY, 0)
		_ = unix.Kill(os.Getpid(), unix.SIGCONT)
		unix.Getsid(0)
		_, _ = zeros.Read(buf)
		calls += knownCall(i)
	}
	if calls != known {
		t.Fatal(calls)
	}
	child := exec.Command("/bin/cat", "-", "--", "-")
	hold, errIn := child.StdinPipe()
	copied, errOut := child.StdoutPipe()
	if err := errors.Join(errIn, errOut, child.Start()); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(hold)
	_, _ = bufio.NewReader(copied).ReadString('\n') // it runs
	fmt.Println("done")
	_, _ = input.ReadString('\n')
	hold.Close()
	_ = child.Wait()
}

func TestLiveShippedProgramsSeeWhatAProcessDoes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	programs := map[string]scripts.Program{}
	for _, p := range scripts.All() {
		programs[p.Name] = p
	}
	for _, test := range []struct {
		name  string
		named map[string]string
		line  string // of the process PID
		times int
	}{
		{"opensnoop", map[string]string{"failed": "true"}, "PID     -1 /nonexistent/of-the-tests-of-shipped-programs/", known},
		{"killsnoop", map[string]string{"signals": "true"}, "PID    PID     SIGCONT       0", known},
		{"syscount", map[string]string{"calls": "true", "by-pid": "true"}, "@pid_comm_syscall[PID, exe, getsid]: 100", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, pid := watchedBy(t, programs[test.name], test.named)
			n := 0
			for line := range strings.Lines(out) {
				words := strings.Join(strings.Fields(line), " ")
				want := strings.Join(strings.Fields(strings.ReplaceAll(test.line, "PID", fmt.Sprint(pid))), " ")
				if strings.Contains(words, want) {
					n++
				}
			}
			if n != test.times {
				t.Errorf("%d lines %q, want %d, in\n%s", n, test.line, test.times, out)
			}
		})
	}
}

// watchedBy runs a program, in which KNOWN is the known process, while that does what it does.
func watchedBy(t *testing.T, p scripts.Program, named map[string]string) (out string, pid int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestKnownProcess$")
	cmd.Env = append(os.Environ(), "SESSION_KNOWN=1")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		input.Close()
		_ = cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	stdout := &awaited{text: "ready\n", then: func() {
		fmt.Fprintln(input)
		go func() {
			_, _ = bufio.NewReader(output).ReadString('\n')
			cancel()
		}()
	}}
	var stderr bytes.Buffer
	text := strings.ReplaceAll(p.Text, "KNOWN", fmt.Sprint(cmd.Process.Pid)) + "\nbegin { printf(\"ready\\n\"); }\n"
	code, err := Run(ctx, Options{Text: text, File: p.Name, Named: named, Quiet: true, Stdout: stdout, Stderr: &stderr})
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, &stderr)
	}
	return stdout.String(), cmd.Process.Pid
}
