// Package perfrecord makes recordings with the installed perf, in every mode of perf record, for
// tests that compare ringtap with perf.
package perfrecord

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Mode is a way to record.
type Mode struct {
	Name string
	Args string // of perf record
	Pipe bool   // to standard output
}

// Modes are perf record's modes.
var Modes = []Mode{
	{"clock", "-e cpu-clock -F 999 -a", false},
	{"a command", "-e cpu-clock -F 999", false},
	{"callchains", "-e cpu-clock -F 999 -a -g", false},
	{"stacks", "-e cpu-clock -F 499 -a --call-graph dwarf", false},
	{"packed", "-e cpu-clock -F 999 -a -g -z", false},
	{"packed stacks", "-e cpu-clock -F 499 -a --call-graph dwarf -z", false},
	{"to a pipe", "-e cpu-clock -F 999 -a -g", true},
	{"packed to a pipe", "-e cpu-clock -F 999 -a -g -z", true},
	{"build ids", "-e cpu-clock -F 999 -a --buildid-mmap", false},
	{"two events", "-e page-faults,minor-faults -c 1", false},
	{"a group", "-e {cpu-clock,page-faults} -F 999 -a", false},
	{"tracepoints", "-e sched:sched_switch,sched:sched_wakeup -a", false},
	{"addresses", "-e cpu-clock -d --phys-data -F 999 -a", false},
	{"page sizes", "-e cpu-clock -d --data-page-size --code-page-size -F 999 -a", false},
	{"interrupt registers", "-e cpu-clock -F 999 -a --intr-regs=ip,sp --user-regs=ip,sp", false},
	{"switches", "-e cpu-clock -F 999 -a --switch-events", false},
	{"control groups and namespaces", "-e cpu-clock -F 999 -a --all-cgroups --namespaces", false},
	{"identifiers of streams", "-e cpu-clock -F 999 -a --sample-identifier --sample-cpu", false},
	{"no ids of records", "-e cpu-clock -F 999 --no-inherit", false},
	{"another clock", "-e cpu-clock -F 999 -a -k CLOCK_MONOTONIC", false},
	{"threads", "-e cpu-clock -F 999 -a --threads", false},
}

// Need skips the test if perf is not installed or the user may not record the whole system.
func Need(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("no perf")
	}
	if os.Geteuid() != 0 {
		t.Skip("root: perf records the whole system")
	}
}

// Record records a command and returns the path of the recording. perf's cache of build ids is
// empty for each test.
func Record(t *testing.T, mode Mode, command ...string) string {
	t.Helper()
	Need(t)
	t.Setenv("HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "perf.data")
	to := path
	if mode.Pipe {
		to = "-"
	}
	args := append(append([]string{"record", "-q"}, strings.Fields(mode.Args)...), "-o", to, "--")
	for try := 1; ; try++ {
		stderr, err := record(t, path, mode.Pipe, append(args, command...))
		if err == nil {
			return path
		}
		if try == 3 || !aborted(err) {
			t.Fatalf("perf record %s: %v\n%s", mode.Args, err, stderr)
		}
		t.Logf("perf record %s aborted: %s", mode.Args, stderr)
	}
}

// aborted reports whether perf ended itself. perf 6.1 does so in one of a thousand recordings, when it
// reads the build ids of what it has recorded ("assertion failed at util/build-id.c:1010").
func aborted(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGABRT
}

// record runs perf record. If pipe is true, its output is a file.
func record(t *testing.T, path string, pipe bool, args []string) (said string, err error) {
	t.Helper()
	cmd := exec.Command("perf", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if pipe {
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd.Stdout = out
	}
	err = cmd.Run()
	return stderr.String(), err
}

// Run returns the output of a command of perf's.
func Run(t *testing.T, args ...string) string {
	t.Helper()
	out, _ := run(t, nil, args)
	return out
}

// Quietly is Run, and perf must not warn of anything but losses.
func Quietly(t *testing.T, args ...string) string {
	t.Helper()
	return Piped(t, nil, args...)
}

// lossWarning is what perf warns of if the machine was too busy to record everything.
var lossWarning = regexp.MustCompile(`Warning:\s+Processed \d+ events and lost \d+ chunks!\s+Check IO/CPU overload!`)

// Piped is Quietly with a recording at perf's standard input.
func Piped(t *testing.T, recording []byte, args ...string) string {
	t.Helper()
	out, warnings := run(t, recording, args)
	if rest := lossWarning.ReplaceAllString(warnings, ""); strings.TrimSpace(rest) != "" {
		t.Fatalf("perf %v warns:\n%s", args, rest)
	}
	return out
}

func run(t *testing.T, input []byte, args []string) (out, warnings string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("perf", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("perf %v: %v\n%s", args, err, &stderr)
	}
	return stdout.String(), stderr.String()
}
