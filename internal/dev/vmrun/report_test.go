package main

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/dev/results"
	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// said is what a test binary prints with -test.v=test2json, marks left out.
func said(name, verdict, text string) string {
	return "\x16=== RUN   " + name + "\n    x_test.go:1: " + text + "\n\x16--- " + verdict + ": " + name + " (0.01s)\n"
}

func reportOf(t *testing.T, feed func(r *report, tests []wire.Test)) (*results.Results, string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not on the PATH")
	}
	var events, text strings.Builder
	r := &report{kernel: kernel{name: "6.1"}, results: results.New(&text), json: json.NewEncoder(&events)}
	feed(r, []wire.Test{{Package: "m/a"}, {Package: "m/b"}})
	again := results.New(&strings.Builder{})
	if err := again.Read(strings.NewReader(events.String())); err != nil {
		t.Fatal(err)
	}
	if again.Passed != r.results.Passed || again.Failed != r.results.Failed || again.Skipped != r.results.Skipped {
		t.Errorf("as JSON %+v, in words %+v", again, r.results)
	}
	return r.results, text.String()
}

func TestTestBinariesAreReportedAsGoTestDoes(t *testing.T) {
	r, text := reportOf(t, func(r *report, tests []wire.Test) {
		ctx := context.Background()
		for _, step := range []error{
			r.write(ctx, tests, []byte(said("TestLiveA", "PASS", "fine")+said("TestLiveB", "SKIP", testlimit.TooSlow)+"\x16PASS\n")), r.end(ctx, tests, ""),
			r.write(ctx, tests, []byte(said("TestLiveC", "FAIL", "it differs")+"\x16FAIL\n")), r.end(ctx, tests, "exit status 1"),
		} {
			if step != nil {
				t.Fatal(step)
			}
		}
	})
	if r.Passed != 1 || r.Skipped != 1 || r.Failed != 1 || !strings.Contains(text, "ok   m/a") || !strings.Contains(text, "FAIL m/b") || !strings.Contains(text, "it differs") {
		t.Errorf("%+v\n%s", r, text)
	}
}

func TestASkipForWhatTheKernelHasFails(t *testing.T) {
	r, text := reportOf(t, func(r *report, tests []wire.Test) {
		ctx := context.Background()
		r.write(ctx, tests, []byte(said("TestLiveA", "SKIP", "no kprobes")+"\x16PASS\n"))
		if err := r.end(ctx, tests, ""); err != nil {
			t.Fatal(err)
		}
	})
	if r.Failed != 1 || r.Skipped != 0 || !strings.Contains(text, "no kprobes") || !strings.Contains(text, "FAIL m/a") {
		t.Errorf("%+v\n%s", r, text)
	}
}

func TestAGuestThatIsGoneFailsWhatWasLeft(t *testing.T) {
	r, text := reportOf(t, func(r *report, tests []wire.Test) {
		r.write(context.Background(), tests, []byte("\x16=== RUN   TestLiveA\n"))
		r.broke(tests, errors.New("the guest was not done after 1s; its console said last:\nOops: 0000"))
	})
	if r.Failed != 2 || !strings.Contains(text, "Oops: 0000") || !strings.Contains(text, "FAIL m/a") || !strings.Contains(text, "FAIL m/b") {
		t.Errorf("%+v\n%s", r, text)
	}
}

func TestABinaryThatDiesInSilenceFails(t *testing.T) {
	r, text := reportOf(t, func(r *report, tests []wire.Test) {
		if err := r.end(context.Background(), tests, "signal: killed"); err != nil {
			t.Fatal(err)
		}
	})
	if r.Failed != 1 || !strings.Contains(text, "signal: killed") {
		t.Errorf("%+v\n%s", r, text)
	}
}
