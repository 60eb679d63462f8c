// Command ringtap shows what a live Linux host is doing, through
// perf_event_open(2) ring buffers and tracefs only. It never calls bpf(2).
//
// This package has the flags, one short file per command family, exit codes and
// signals. How anything is done is in the packages it imports.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/facility"
	"github.com/ringtap/ringtap/internal/launch"
	"github.com/ringtap/ringtap/internal/streams"
	"github.com/ringtap/ringtap/internal/usage"
	"github.com/ringtap/ringtap/perfevent/near"
)

// The exit codes of every command. A command that ringtap started and that
// failed passes its own status on instead (see launch.StatusError).
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	near.Serve(visitors())
	if len(os.Args) == 3 && os.Args[1] == cleanUpArgument {
		os.Exit(cleanUp(os.Stderr, os.Args[2]))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := streams.CheckFiles(); err != nil {
		os.Exit(exitCode(os.Stderr, "ringtap", err))
	}
	launch.AdoptOrphans()
	out := newConsole(os.Stdout, os.Stderr)
	handleSignals(ctx, cancel, out)
	// A closed pipe is an error of the write, so that the run can still end
	// in order (head(1) closes it). The signal is caught and not ignored,
	// which a command that ringtap starts would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if streams.IsClosed(os.Stdout, os.Stderr) {
		out.stdout = streams.Closed{}
	}
	code := run(ctx, os.Args, out)
	out.exit.Lock()
	os.Exit(code)
}

// run runs the command that args name and returns the exit code. args[0] is
// the name that the program was called by: a link named after a command runs
// that command.
func run(ctx context.Context, args []string, out *console) int {
	stdout := &streams.Output{Writer: out.stdout}
	out.stdout = stdout
	out.called = filepath.Base(args[0])
	args, cmd := args[1:], find(out.called)
	if cmd == nil {
		if len(args) > 0 {
			out.called = args[0]
		}
		var err error
		if cmd, args, err = choose(args); err != nil {
			return exitCode(out.stderr, "ringtap", err)
		}
	}
	err := cmd.run(ctx, out, args)
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		err = stdout.Err()
	}
	return exitCode(out.stderr, "ringtap "+cmd.name, err)
}

// exitCode prints err, unless it is nil, after the name of the command, and returns
// the exit code for it.
func exitCode(stderr io.Writer, name string, err error) int {
	var status launch.StatusError
	var wrong *usage.Error
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return exitDone
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "%s: %v\nTry '%s --help'.\n", name, err, name)
		return exitUsage
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	if errors.Is(err, os.ErrPermission) && os.Geteuid() != 0 {
		command := strings.TrimPrefix(name, "ringtap ")
		fmt.Fprintf(stderr, "%s. 'ringtap check' shows what works without root.\n", facility.Privilege(command))
	}
	return exitFailed
}

func usagef(format string, args ...any) error { return usage.Errorf(format, args...) }
