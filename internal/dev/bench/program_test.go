package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/hermetic"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

func TestMain(m *testing.M) {
	hermetic.Set() // tools end by SIGINT
	os.Exit(m.Run())
}

func startedHits(t *testing.T) *program {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	s := (&bench{dir: t.TempDir()}).newSession(measurement{})
	p, err := startProgram(s.dir, s.expand(hitsProgram))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestHitsSaysWhatItWasAsked(t *testing.T) {
	h := startedHits(t)
	if _, err := os.Stat(strings.TrimPrefix(h.first, "libc=")); err != nil {
		t.Errorf("its libc: %v", err)
	}
	if took, err := h.run(1000); err != nil || took <= 0 {
		t.Errorf("run = %v ns, %v; want a time", took, err)
	}
	if _, err := h.askNumber("probed"); err != nil {
		t.Error(err)
	}
}

func TestTheClockOfTheTicksIsOurs(t *testing.T) {
	h := startedHits(t)
	before := monotonic()
	if err := h.say("tick"); err != nil {
		t.Fatal(err)
	}
	tool, err := launch(t.Context(), nil, "sleep", "0.05")
	if err != nil {
		t.Fatal(err)
	}
	calls, err := h.ticks(tool) // which the end of the tool ends
	if err != nil || calls == 0 {
		t.Fatalf("ticks = %d, %v; want some", calls, err)
	}
	for _, call := range []uint64{0, calls - 1} {
		at, err := h.at(call)
		if err != nil || at < before || at > monotonic() {
			t.Errorf("call %d was at %v, %v; want between %v and now", call, at, err, before)
		}
	}
	if _, err := tool.stop(); err != nil {
		t.Error(err)
	}
}

func TestStopInterruptsAToolAsCtrlCDoes(t *testing.T) {
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	tool, err := launch(t.Context(), output, "sh", "-c", "trap 'echo ending; exit 0' INT; echo ready; while :; do sleep 0.01; done")
	if err != nil {
		t.Fatal(err)
	}
	said := func() string {
		text, err := os.ReadFile(output.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for end := time.Now().Add(testlimit.End); said() == "" && tool.done.Err() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the tool does not say that it is ready")
		}
	}
	if _, err := tool.stop(); err != nil {
		t.Error(err)
	}
	if got := said(); got != "ready\nending\n" {
		t.Errorf("it said %q; want that it has ended by itself", got)
	}
}

func TestAToolThatEndsByTheInterruptHasNotFailed(t *testing.T) {
	tool, err := launch(t.Context(), nil, "sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.stop(); err != nil {
		t.Error(err)
	}
}

func TestStopQuotesWhatAFailedToolSaid(t *testing.T) {
	tool, err := launch(t.Context(), nil, "sh", "-c", "echo no such probe >&2; exit 1")
	if err != nil {
		t.Fatal(err)
	}
	<-tool.done.Done()
	if _, err := tool.stop(); err == nil || !strings.Contains(err.Error(), "no such probe") {
		t.Errorf("stop = %v; want an error with the tool's message", err)
	}
}

func TestOnlyTheLockOfItsOwnScriptIsRemoved(t *testing.T) {
	s := (&bench{dir: t.TempDir()}).newSession(measurement{})
	lock := filepath.Join(s.dir, "lock")
	s.vars["tracefs"], s.vars["lock"], s.vars["tool"] = s.dir, lock, "12"
	cleaned := func(tool tool) {
		t.Helper()
		if err := (&turn{session: s, tool: tool}).cleaned(); err != nil {
			t.Error(err)
		}
	}
	script := tool{clean: removeUprobes}
	cleaned(script) // no lock
	if err := os.WriteFile(lock, []byte("123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cleaned(script)
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("the lock of another one: %v", err)
	}
	s.vars["tool"] = "123"
	cleaned(script)
	if _, err := os.Stat(lock); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its own lock: %v; want it gone", err)
	}
}

func TestTheInstanceOfATracePipeIsRemoved(t *testing.T) {
	s := (&bench{dir: t.TempDir()}).newSession(measurement{})
	s.vars["tracefs"] = s.dir
	instance := filepath.Join(s.dir, "instances", s.vars["group"])
	if err := os.MkdirAll(instance, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is none
		if err := (&turn{session: s, tool: tool{clean: removeInstance}}).cleaned(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(instance); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the instance: %v; want it gone", err)
		}
	}
}

func TestReadingTakesTime(t *testing.T) {
	h := startedHits(t)
	own, elapsed, err := h.read(1000)
	if err != nil || own <= 0 || elapsed < own {
		t.Errorf("a read took %v of its own and %v elapsed, %v; want times, more elapsed than of its own", own, elapsed, err)
	}
}
