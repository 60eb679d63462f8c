package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// sideBySide is a program of bpftrace's language that bpftrace and ringtap run at the same time.
type sideBySide struct {
	program       string                 // its file
	both, ringtap []string               // options
	begin         func()                 // called when both trace
	enough        func(b, r string) bool // reports whether what bpftrace and ringtap have printed is enough
}

// besideBpftrace runs a program of bpftrace's language by both while a known program does its
// work, and returns what each prints. The options are ringtap's.
func besideBpftrace(t *testing.T, k *known, program string, options ...string) (ours, theirs string) {
	t.Helper()
	return sideBySide{program: program, ringtap: options, begin: k.run, enough: func(string, string) bool { return k.hasEnded() }}.run(t)
}

// run returns what each prints until both have printed enough.
func (s sideBySide) run(t *testing.T) (ours, theirs string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var r, b transcript
	var errs bytes.Buffer
	bpftrace := exec.CommandContext(ctx, "bpftrace", append(slices.Clone(s.both), s.program)...)
	bpftrace.Stdout, bpftrace.Stderr = &b, os.Stderr
	if err := bpftrace.Start(); err != nil {
		t.Fatal(err)
	}
	awaitPoll(ctx, t, bpftrace.Process.Pid)
	ringtap, end := context.WithCancel(ctx)
	defer end()
	go func() {
		defer end()
		awaitIn(ringtap, func() bool { return strings.Contains(r.String(), "Attaching") })
		if ringtap.Err() != nil {
			return // it could not
		}
		s.begin()
		awaitIn(ringtap, func() bool { return s.enough(b.String(), r.String()) })
	}()
	args := slices.Concat([]string{"ringtap", "run"}, s.both, s.ringtap, []string{s.program})
	if code := run(ringtap, args, &console{stdout: &r, stderr: &errs}); code != exitDone {
		t.Fatalf("%s: exit code %d\n%s%s", strings.Join(args, " "), code, r.String(), errs.String())
	}
	if ctx.Err() != nil {
		t.Errorf("not in this time: bpftrace has printed\n%s\nringtap:\n%s", b.String(), r.String())
	}
	endBpftrace(t, bpftrace)
	if errs.Len() > 0 {
		t.Log(errs.String())
	}
	return r.String(), b.String()
}

// awaitIn waits until a condition comes true or the context ends.
func awaitIn(ctx context.Context, condition func() bool) {
	often := time.NewTicker(10 * time.Millisecond)
	defer often.Stop()
	for ctx.Err() == nil && !condition() {
		select {
		case <-ctx.Done():
		case <-often.C:
		}
	}
}

// transcript keeps what a program prints, which may be read meanwhile.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
