package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts find ringtap under these names.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ringtap": main, "on-cpu": main, "on_cpu": main, "check": main, "other": main})
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

func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": wantStatus},
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
