package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/launch"
)

func TestRunReturnsTheExitCode(t *testing.T) {
	for _, test := range []struct {
		args           string
		code           int
		stdout, stderr string // what they begin with; "" is nothing
	}{
		{"ringtap help", 0, "ringtap shows", ""},
		{"ringtap --version", 0, "ringtap ", ""},
		{"ringtap on_cpu --help", 0, "Usage: ringtap on-cpu", ""},
		{"ringtap", 2, "ringtap shows", ""},
		{"ringtap top x", 2, "", `ringtap: no command "top": 'ringtap on-cpu -i 2' reports every two seconds`},
		{"ringtap chekc", 2, "", `ringtap: no command "chekc"; did you mean check?`},
		{"ringtap on-cpu -f fast", 2, "", `ringtap on-cpu: --frequency "fast": want a whole number`},
		{"ringtap on-cpu -F 99", 2, "", "ringtap on-cpu: no flag -F; did you mean -f (--frequency)?\nTry"},
		{"ringtap on-cpu -g /no/such/group", 1, "", "ringtap on-cpu: "},
		{"/usr/local/bin/on-cpu --help", 0, "Usage: ringtap on-cpu", ""},
		{"/usr/local/bin/on_cpu --help", 0, "Usage: ringtap on-cpu", ""},
		{"./check too much", 2, "", "ringtap check: check takes no arguments"},
		{"./other check too much", 2, "", "ringtap check: check takes no arguments"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), strings.Fields(test.args), &console{stdout: &stdout, stderr: &stderr})
		if code != test.code {
			t.Errorf("%s: exit code %d, want %d", test.args, code, test.code)
		}
		for _, stream := range []struct{ name, got, want string }{{"stdout", stdout.String(), test.stdout}, {"stderr", stderr.String(), test.stderr}} {
			if !strings.HasPrefix(stream.got, stream.want) || (stream.want == "") != (stream.got == "") {
				t.Errorf("%s: %s is %q, want it to begin with %q", test.args, stream.name, stream.got, stream.want)
			}
		}
	}
}

func TestAReaderThatHasSeenEnoughIsNoFailure(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if code := run(context.Background(), []string{"ringtap", "check"}, &console{stdout: w, stderr: &stderr}); code != exitDone {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
}

func TestEveryErrorHasItsExitCode(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{pflag.ErrHelp, 0, ""},
		{launch.StatusError(3), 3, ""},
		{fmt.Errorf("command: %w", launch.StatusError(137)), 137, ""},
		{usagef("-x: %w", fs.ErrInvalid), 2, "ringtap x: -x: invalid argument\nTry 'ringtap x --help'.\n"},
		{errors.New("broken"), 1, "ringtap x: broken\n"},
	} {
		var stderr bytes.Buffer
		if code := exitCode(&stderr, "ringtap x", test.err); code != test.code || stderr.String() != test.text {
			t.Errorf("%v: exit code %d and %q, want %d and %q", test.err, code, stderr.String(), test.code, test.text)
		}
	}
}

func TestOnlyVerboseSaysWhatIsDone(t *testing.T) {
	for _, test := range []struct {
		verbose bool
		want    string
	}{
		{false, "warning: odd\n"},
		{true, "level=INFO msg=done\nlevel=WARN msg=odd\n"},
	} {
		var stderr bytes.Buffer
		log := (&console{stderr: &stderr}).logger(test.verbose)
		log.Info("done")
		log.Warn("odd")
		if got := stderr.String(); got != test.want {
			t.Errorf("verbose %t: %q, want %q", test.verbose, got, test.want)
		}
	}
}
