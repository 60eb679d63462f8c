package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/testkit/hermetic"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// The scripts find ringtap under these names.
func TestMain(m *testing.M) {
	helper.Serve(visitors())
	testscript.Main(tests{m}, map[string]func(){
		"ringtap": main, "as-nobody": asNobody, "known-program": knownProgram, "await-text": awaitText, "await-asleep": awaitAsleep, "on-cpu": main, "on_cpu": main, "check": main, "other": main,
		"bpf-watched": becomeWatched, "btf-hidden": hideBTF, "bpf-caller": callBPF, "bpf-grandparent": haveBPFCalled,
	})
}

// tests are this package's tests, as against the programs that this binary is too: those
// take signals as they are handed down.
type tests struct{ *testing.M }

func (m tests) Run() int {
	hermetic.Set()
	return m.M.Run()
}

// asNobody runs a command as an ordinary user.
func asNobody() {
	const nobody = 65534
	path, err := exec.LookPath(os.Args[1])
	err = errors.Join(err, syscall.Setgroups(nil), syscall.Setresgid(nobody, nobody, nobody), syscall.Setresuid(nobody, nobody, nobody))
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "as-nobody:", err)
	os.Exit(1)
}

// awaitText waits until a file has come to hold what a pattern matches.
func awaitText() {
	await(func() bool {
		text, err := os.ReadFile(os.Args[1])
		return err == nil && regexp.MustCompile("(?m)"+os.Args[2]).Match(text)
	})
}

// awaitAsleep waits until the process whose number has come to stand in a file has a
// name, which it has not before its exec, and waits for something.
func awaitAsleep() {
	await(func() bool {
		pid, _ := os.ReadFile(os.Args[1])
		status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/status")
		return err == nil && strings.HasPrefix(string(status), "Name:\t"+os.Args[2]+"\n") && strings.Contains(string(status), "\nState:\tS")
	})
}

// await waits for a condition that comes true in its time, which is soon but on a busy
// machine, and ends the program if it does not.
func await(condition func() bool) {
	for end := time.Now().Add(testlimit.End); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			fmt.Fprintln(os.Stderr, strings.Join(os.Args, " ")+": not in this time")
			os.Exit(1)
		}
	}
}

// The scripts of testdata/usage need no privileges and open nothing.
func TestUsage(t *testing.T) {
	testscript.Run(t, scriptsIn(t, "testdata/usage"))
}

func TestLiveScripts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: the scripts profile the whole system")
	}
	testscript.Run(t, scriptsIn(t, "testdata/live"))
}

// Every call is a line, those of forked children too.
func TestLiveCountsOfUserProbes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: the script traces programs")
	}
	if !testlimit.Linux(t, 6, 12) {
		t.Skip("Linux before 6.12 loses hits of forked children")
	}
	testscript.Run(t, scriptsIn(t, "testdata/counts"))
}

// scriptsIn are those of a folder. None hangs: what a script runs does not outlive it, nor
// the time that a script may take.
func scriptsIn(t *testing.T, dir string) testscript.Params {
	patience := 2 * testlimit.End
	if end, ok := t.Deadline(); ok {
		patience = min(patience, time.Until(end)-30*time.Second)
	}
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": wantStatus},
		Condition:           hostIs(t),
		Setup: func(env *testscript.Env) error {
			late := time.AfterFunc(patience, func() {
				env.T().Log("the script does not end: killed", killScript(env.WorkDir))
			})
			env.Defer(func() { late.Stop(); killScript(env.WorkDir) })
			return nil
		},
	}
}

// killScript kills what a script in this folder has started and that runs still, and
// returns the command lines.
func killScript(dir string) (killed []string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environments {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("WORK="+dir+"\x00")) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && unix.Kill(pid, unix.SIGKILL) == nil {
			killed = append(killed, fmt.Sprintf("%q", bytes.ReplaceAll(bytes.TrimRight(args, "\x00"), []byte{0}, []byte{' '})))
		}
	}
	return killed
}

// hostIs reports whether the host is as a script needs it: a setting,
// [sysctl:kernel/perf_event_paranoid=2], or the kernel's release or a later one, [linux:7.0].
func hostIs(t *testing.T) func(condition string) (bool, error) {
	return func(condition string) (bool, error) {
		kind, what, _ := strings.Cut(condition, ":")
		switch kind {
		case "linux":
			var major, minor int
			_, err := fmt.Sscanf(what, "%d.%d", &major, &minor)
			return err == nil && testlimit.Linux(t, major, minor), err
		case "sysctl":
			name, want, _ := strings.Cut(what, "=")
			is, err := os.ReadFile("/proc/sys/" + name)
			return strings.TrimSpace(string(is)) == want, err
		}
		return false, fmt.Errorf("no condition is called %q", condition)
	}
}

// wantStatus runs a command that must end with that exit code: the scripts' own "!"
// only knows that it failed.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if want := args[0]; strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}
