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
	"github.com/ringtap/ringtap/internal/launch"
)

// endSignals are the signals that end a run with its report. Under nohup(1) the
// hangup of the terminal is none. An ignored SIGINT is one all the same: shells ignore
// it for what a script starts in the background, and scripts end a profiler by it.
// SIGXCPU comes at the soft limit of CPU time (ulimit -t); the kernel kills at the
// hard one.
func endSignals() []os.Signal {
	signals := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGXCPU}
	if !signal.Ignored(unix.SIGHUP) {
		signals = append(signals, unix.SIGHUP)
	}
	return signals
}

// quitSignals are the signals that end a run at once, without a report: those for
// which the Go runtime would print its goroutines and leave events behind.
func quitSignals() []os.Signal {
	return []os.Signal{unix.SIGQUIT, unix.SIGABRT, unix.SIGTRAP, unix.SIGSYS, unix.SIGSTKFLT}
}

// preparing is how long a run that has nothing to report yet may take to end in order:
// it may be in the middle of a file of gigabytes.
const preparing = 700 * time.Millisecond

// patience is how long a run may take to end before ringtap says that it is ending.
const patience = time.Second

// handleSignals ends the run by cancel at the first of endSignals. A second one, or any of
// quitSignals, ends ringtap immediately. If nothing is recorded yet, the first one does. A run
// that takes long to end is announced on standard error.
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
					time.AfterFunc(patience, func() {
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
			if ctx.Err() != nil { // what was started has been told to end already
				how = unix.SIGKILL
			}
			out.endNow(s.(syscall.Signal), how)
		}
	}
}

// endNow ends ringtap without a report. It sends how to what ringtap has started.
// Then ringtap executes itself anew: by that the kernel ends all threads, whatever they
// wait for, and closes all events. The process keeps its id and its start time, and with
// them the names of what it has in tracefs, which cleanUp removes. It never returns, and
// main must not exit meanwhile: what waited for a process that is killed here goes on.
func (c *console) endNow(s, how syscall.Signal) {
	c.exit.Lock()
	launch.Signal(how, 0)
	code := 128 + int(s)
	// What is ignored stays so, and a third Ctrl-C does not end the cleaning half-way.
	ignoreEnds()
	_ = unix.Exec("/proc/self/exe", []string{"ringtap", cleanUpArgument, strconv.Itoa(code)}, os.Environ())
	os.Exit(code)
}

func ignoreEnds() { signal.Ignore(append(endSignals(), quitSignals()...)...) }

// cleanUpArgument has ringtap do nothing but clean up. The exit code follows it.
const cleanUpArgument = "--clean-up-and-exit"

// cleanUp removes what this process had in tracefs before endNow.
func cleanUp(stderr io.Writer, code string) int {
	ignoreEnds() // the runtime has taken all but SIGINT and SIGHUP back
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
