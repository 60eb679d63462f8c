package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// The scripts find ringtap under these names.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ringtap": main, "as-nobody": asNobody, "known-program": knownProgram, "on-cpu": main, "on_cpu": main, "check": main, "other": main,
		"bpf-watched": becomeWatched, "bpf-caller": callBPF, "bpf-grandparent": haveBPFCalled,
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
