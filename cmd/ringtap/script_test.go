package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// The scripts find ringtap under these names.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ringtap": main, "as-nobody": asNobody, "known-program": knownProgram, "await-text": awaitText, "await-asleep": awaitAsleep, "on-cpu": main, "on_cpu": main, "check": main, "other": main,
		"bpf-watched": becomeWatched, "btf-hidden": hideBTF, "bpf-caller": callBPF, "bpf-grandparent": haveBPFCalled,
	})
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
	for end := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			fmt.Fprintln(os.Stderr, strings.Join(os.Args, " ")+": not in this time")
			os.Exit(1)
		}
	}
}

// The scripts of testdata/usage need no privileges and open nothing.
func TestUsage(t *testing.T) {
	testscript.Run(t, scripts("testdata/usage"))
}

func TestLiveScripts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: the scripts profile the whole system")
	}
	testscript.Run(t, scripts("testdata/live"))
}

// Every call is a line, those of forked children too.
func TestLiveCountsOfUserProbes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: the script traces programs")
	}
	if !keepsChildren(t) {
		t.Skip("Linux before 6.12 loses hits of forked children")
	}
	testscript.Run(t, scripts("testdata/counts"))
}

func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": wantStatus},
	}
}

// keepsChildren tells whether an inherited event sees every hit of forked children,
// which it does since Linux 6.12 (see package perfevent, contexts.go).
func keepsChildren(t *testing.T) bool {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 6 || major == 6 && minor >= 12
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
