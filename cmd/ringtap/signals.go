package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/host/proc"
)

// endSignals returns the signals that end a run with its report. SIGHUP is not one of
// them if it is ignored, as under nohup(1). SIGINT is one even if it is ignored: shells
// ignore it in background jobs of scripts, and scripts end a profiler with it. SIGXCPU
// comes at the soft limit of CPU time (ulimit -t); at the hard limit the kernel kills.
func endSignals() []os.Signal {
	signals := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGXCPU}
	if !signal.Ignored(unix.SIGHUP) {
		signals = append(signals, unix.SIGHUP)
	}
	return signals
}

// quitSignals returns the signals that end a run immediately, without a report. Without
// a handler, the Go runtime would print its goroutines and leave events behind.
func quitSignals() []os.Signal {
	return []os.Signal{unix.SIGQUIT, unix.SIGABRT, unix.SIGTRAP, unix.SIGSYS, unix.SIGSTKFLT}
}

// preparing is how long a run that has nothing to report yet may take to end in order.
// It may be reading a file of gigabytes.
const preparing = 700 * time.Millisecond

// patience is how long a run may take to end before ringtap says that it is ending. A user at a
// terminal would press Ctrl-C again within a second.
func (c *console) patience() time.Duration {
	if c.live {
		return 200 * time.Millisecond
	}
	return time.Second
}

// handleSignals calls cancel at the first of endSignals. A second one, or any of quitSignals,
// ends ringtap immediately. If nothing is recorded yet, the first one does so too, after the
// time preparing. If a run takes long to end, a message on standard error says so.
func handleSignals(ctx context.Context, cancel func(), out *console) {
	end, quit := make(chan os.Signal, 8), make(chan os.Signal, 8)
	signal.Notify(end, endSignals()...)
	signal.Notify(quit, quitSignals()...)
	go awaitSignals(ctx, cancel, out, end, quit)
}

func awaitSignals(ctx context.Context, cancel func(), out *console, end, quit <-chan os.Signal) {
	var first time.Time
	for {
		select {
		case s := <-end:
			switch {
			case first.IsZero():
				first = time.Now()
				if out.recording.Load() {
					time.AfterFunc(out.patience(), func() {
						fmt.Fprintln(out.stderr, "ringtap: ending the run: handling what is already recorded. Ctrl-C again ends it now, without the rest.")
					})
				} else {
					time.AfterFunc(preparing, func() { out.endNow(s.(syscall.Signal), unix.SIGTERM) })
				}
				cancel()
			case s != unix.SIGXCPU && time.Since(first) > launch.Echo: // SIGXCPU comes each second
				out.endNow(s.(syscall.Signal), unix.SIGKILL)
			}
		case s := <-quit:
			how := unix.SIGTERM
			if ctx.Err() != nil { // the started processes already got SIGTERM
				how = unix.SIGKILL
			}
			out.endNow(s.(syscall.Signal), how)
		}
	}
}

// endNow ends ringtap without a report. It sends the signal how to all processes that
// ringtap started. Then ringtap executes itself again: execve(2) ends all threads,
// whatever they wait for, and closes all events. The process keeps its PID and start
// time, so cleanUp recognizes what it has in tracefs by name and removes it.
//
// endNow never returns. main must not exit meanwhile, although the end of a killed process
// lets it go on: both take c.exit.
func (c *console) endNow(s, how syscall.Signal) {
	c.exit.Lock()
	launch.Signal(how, 0)
	code := 128 + int(s)
	// Ignored signals stay ignored after execve, so a third Ctrl-C does not stop the cleanup.
	ignoreEnds()
	_ = unix.Exec(proc.Live.Self("exe"), []string{"ringtap", cleanUpArgument, strconv.Itoa(code)}, os.Environ())
	os.Exit(code)
}

func ignoreEnds() { signal.Ignore(append(endSignals(), quitSignals()...)...) }

// cleanUpArgument makes ringtap only clean up and exit. The next argument is the exit code.
const cleanUpArgument = "--clean-up-and-exit"

// cleanUp removes what this process had in tracefs before endNow. code is the exit code to return.
func cleanUp(stderr io.Writer, code string) int {
	ignoreEnds() // the new runtime left only SIGINT and SIGHUP ignored
	if tracefs, err := ftrace.Find(); err == nil {
		if _, err := tracefs.RemoveOwn(); err != nil {
			fmt.Fprintln(stderr, "ringtap: probes stay behind:", err)
		}
	}
	n, err := strconv.Atoi(code)
	if err != nil {
		return exitUsage
	}
	return n
}
