package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// A tracer whose lines nobody reads waits for its write for ever. The first Ctrl-C
// can't end it, the second does, and tracefs is as it was.
func TestLiveASecondInterruptLeavesNothing(t *testing.T) {
	fs := needTracefs(t, "uprobe_events")
	var before map[string]string
	if testlimit.Emulated() { // else other tests change tracefs meanwhile
		resetRingtap(t) // what others have left
		before = tracefsState(t, fs)
	}
	k := startKnown(t, "steps", 1<<30)
	p := startRingtap(t, k, []string{"uprobe", `p:/proc/self/exe:"github.com/ringtap/ringtap/cmd/ringtap.knownStep" %sp:x64`, "-p", "PID"})
	p.readLines(t, 1)
	if len(madeBy(t, fs, p.Process.Pid)) == 0 {
		t.Error("it has nothing in tracefs")
	}
	k.run()
	waitUntil(t, "it waits for its write", func() bool {
		waits, _ := filepath.Glob("/proc/" + strconv.Itoa(p.Process.Pid) + "/task/*/wchan")
		return slices.ContainsFunc(waits, func(path string) bool {
			text, err := os.ReadFile(path)
			return err == nil && bytes.Contains(text, []byte("pipe_write"))
		})
	})
	ended := make(chan *os.ProcessState, 1)
	go func() {
		state, _ := p.Process.Wait() // Cmd.Wait would close the pipe
		ended <- state
	}()
	var state *os.ProcessState
	waitUntil(t, "it ends", func() bool {
		select {
		case state = <-ended:
			return true
		default:
			_ = p.Process.Signal(unix.SIGINT) // a person presses Ctrl-C until it ends
			return false
		}
	})
	if state.ExitCode() != 128+int(unix.SIGINT) {
		t.Errorf("it ended with %v", state)
	}
	_ = p.Wait() // for its messages
	if text := p.errors.String(); strings.Contains(text, "goroutine") {
		t.Error(text)
	}
	if left := madeBy(t, fs, p.Process.Pid); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if testlimit.Emulated() {
		sameState(t, before, tracefsState(t, fs))
	}
}

// The write that would tell may never come.
func TestLiveATracerEndsWithWhoReadsItsLines(t *testing.T) {
	needTracefs(t, "uprobe_events")
	k := startKnown(t, "steps", 1<<30)
	for _, args := range [][]string{
		{"uprobe", `p:/proc/self/exe:"github.com/ringtap/ringtap/cmd/ringtap.knownStep"`, "-p", "PID"},
		{"run", "-q", "-e", `BEGIN { printf("Tracing\n"); } interval:s:1000 { exit(); }`},
		{"oomkill"},
	} {
		t.Run(args[0], func(t *testing.T) {
			p := startRingtap(t, k, args)
			p.readLines(t, 1)
			_ = p.out.Close()
			p.end(t)
			if text := p.errors.String(); !p.ProcessState.Success() || text != "" {
				t.Errorf("%v\n%s", p.ProcessState, text)
			}
		})
	}
}

// Whatever runs next removes what a killed one has left, if it defines nothing of its own too.
func TestLiveARunOfTracepointsAloneRemovesWhatAKilledRingtapLeft(t *testing.T) {
	fs := needTracefs(t, "uprobe_events")
	k := startKnown(t, "steps", 1<<30)
	for _, next := range [][]string{
		{"tpoint", "-d", "0.01", "sched:sched_process_exit"},
		{"hist", "-d", "0.01", "sched:sched_process_exit prio"},
		{"funccount", "-d", "0.01", "t:sched:sched_process_exit"},
		{"killsnoop", "-d", "0.01"},
		{"off-cpu", "-d", "0.01", "-p", "PID"},
	} {
		t.Run(next[0], func(t *testing.T) {
			killed := startRingtap(t, k, []string{"uprobe", `p:/proc/self/exe:"github.com/ringtap/ringtap/cmd/ringtap.knownStep" %sp:x64`, "-p", "PID"})
			killed.readLines(t, 1)
			if len(madeBy(t, fs, killed.Process.Pid)) == 0 {
				t.Error("it has nothing in tracefs")
			}
			_ = killed.Process.Kill()
			killed.end(t)
			p := startRingtap(t, k, next)
			p.end(t)
			if left := madeBy(t, fs, killed.Process.Pid); len(left) > 0 || !p.ProcessState.Success() {
				t.Errorf("%v, %q are left\n%s", p.ProcessState, left, p.errors.String())
			}
		})
	}
}

// madeBy are the events and instances in tracefs that a ringtap has made.
func madeBy(t *testing.T, fs *ftrace.FS, pid int) (all []string) {
	t.Helper()
	own := fmt.Sprintf("ringtap_%d_", pid)
	for _, file := range []string{"uprobe_events", "kprobe_events", "synthetic_events"} {
		text, _ := os.ReadFile(filepath.Join(fs.Dir(), file)) // a kernel may lack it
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, own) {
				all = append(all, line)
			}
		}
	}
	instances, err := filepath.Glob(filepath.Join(fs.Dir(), "instances", own+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return append(all, instances...)
}

// What a command has started ends with it, whoever its parent is by then, where the run
// ends first. What a command that ended by itself has left is named.
func TestLiveACommandEndsWithAllThatItStarted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const line = `echo $$ >pids; sleep 1001 & echo $! >>pids; (sleep 1002 & echo $! >>pids); timeout 1003 sh -c 'echo $$ >>pids; exec sleep 1004' & echo $! >>pids; `
	run := func(end string, interrupt int) (pids []int, stderr string) {
		t.Helper()
		cmd := exec.Command(exe)
		cmd.Args = []string{"ringtap", "on-cpu", "-c", line + end}
		cmd.Dir = t.TempDir()
		cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
		// A file: a pipe would be open as long as what the command has left.
		messages, err := os.Create(cmd.Dir + "/stderr")
		if err != nil {
			t.Fatal(err)
		}
		defer messages.Close()
		cmd.Stderr = messages
		testlimit.Limit(t, cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var b []byte
		waitUntil(t, "all have started", func() bool {
			b, _ = os.ReadFile(cmd.Dir + "/pids")
			return bytes.Count(b, []byte("\n")) == 5
		})
		if interrupt != 0 {
			_ = unix.Kill(interrupt*cmd.Process.Pid, unix.SIGINT)
		}
		err = cmd.Wait()
		text, _ := os.ReadFile(messages.Name())
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for field := range strings.FieldsSeq(string(b)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		return pids, string(text)
	}
	const ringtapAlone, asTheTerminal = 1, -1
	for _, interrupt := range []int{ringtapAlone, asTheTerminal} {
		pids, _ := run("sleep 1005", interrupt)
		for _, pid := range pids {
			waitUntil(t, "process "+strconv.Itoa(pid)+" ends", func() bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) })
		}
	}

	pids, stderr := run("while [ $(wc -l <pids) -lt 5 ]; do sleep 0.01; done", 0)
	for i, pid := range pids {
		if lives := unix.Kill(pid, unix.SIGKILL) == nil; lives != (i > 0) {
			t.Errorf("process %d, the command's number %d, lives: %t", pid, i, lives)
		}
		if i > 0 && !strings.Contains(stderr, strconv.Itoa(pid)+" ") {
			t.Errorf("nothing tells of process %d:\n%s", pid, stderr)
		}
	}
}

func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(testlimit.End); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never comes that %s", what)
		}
	}
}
