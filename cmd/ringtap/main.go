// Command ringtap shows what a live Linux host is doing, through
// perf_event_open(2) ring buffers and tracefs only. It never calls bpf(2).
//
// This package parses flags, with one short file per command, and handles exit codes
// and signals. The packages that it imports do the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/facility"
	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/streams"
	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/readmem/helper"
)

// The exit codes of every command. If a command that ringtap started fails,
// ringtap exits with its status instead (see launch.StatusError).
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	helper.Serve(visitors())
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
	// Catch SIGPIPE, so that a write to a closed pipe returns an error and the
	// run still ends in order (head(1) closes its pipe). The signal is not
	// ignored, because commands that ringtap starts would inherit that.
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
	command := strings.TrimPrefix(name, "ringtap ")
	if errors.Is(err, os.ErrPermission) && os.Geteuid() != 0 && !slices.Contains(fileCommands, command) {
		fmt.Fprintf(stderr, "%s. 'ringtap check' shows what works without root.\n", facility.Privilege(command))
	}
	return exitFailed
}

// fileCommands only read and write files that the user names, so they need no privileges.
var fileCommands = []string{"report", "annotate", "flame", "diff", "script"}

func usagef(format string, args ...any) error { return usage.Errorf(format, args...) }
