package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/ringtap/ringtap/internal/dev/results"
	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
)

// report turns the output of test binaries into the events of go test -json. A skip for a
// facility that the kernel has becomes a failure.
type report struct {
	kernel  kernel
	json    *json.Encoder // nil: print results for people
	results *results.Results

	next    int // index of the test binary that runs or is next
	running *converter
}

// converter is a running go tool test2json, which converts the output of one test binary.
type converter struct {
	pkg    string
	cmd    *exec.Cmd
	input  io.WriteCloser
	done   chan error
	said   map[string][]string // output of the tests, by name
	failed bool
	start  time.Time
}

func newReport(k kernel, asJSON bool) *report {
	r := &report{kernel: k, results: results.New(os.Stdout)}
	if asJSON {
		r.json, r.results = json.NewEncoder(os.Stdout), results.New(io.Discard)
	}
	return r
}

// write processes output of the running test binary.
func (r *report) write(ctx context.Context, tests []wire.Test, output []byte) error {
	if err := r.start(ctx, tests); err != nil {
		return err
	}
	_, err := r.running.input.Write(output)
	return err
}

// start starts the converter for the next test binary, if none is running.
func (r *report) start(ctx context.Context, tests []wire.Test) error {
	if r.running != nil {
		return nil
	}
	if r.next == len(tests) {
		return errors.New("the guest ran more tests than it was told to")
	}
	c := &converter{pkg: tests[r.next].Package, said: map[string][]string{}, start: time.Now(), done: make(chan error, 1)}
	c.cmd = exec.CommandContext(ctx, "go", "tool", "test2json", "-t", "-p", c.pkg)
	c.cmd.Stderr = os.Stderr
	var err error
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	events, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	r.running = c
	go func() { c.done <- r.convert(c, events) }()
	return nil
}

func (r *report) convert(c *converter, events io.Reader) error {
	for d := json.NewDecoder(events); ; {
		var e results.Event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read what go tool test2json makes of the tests of %s: %w", c.pkg, err)
		}
		switch {
		case e.Action == "output":
			c.said[e.Test] = append(c.said[e.Test], e.Output)
		case e.Action == "skip" && e.Test != "":
			if reason := results.SkipReason(c.said[e.Test]); !r.kernel.maySkip(reason) {
				r.add(results.Event{Action: "output", Package: c.pkg, Test: e.Test, Output: "    skipped, but kernel " + r.kernel.name + " is known to have it; see internal/dev/vmrun/skips.go\n"})
				e.Action = "fail"
			}
		}
		c.failed = c.failed || e.Action == "fail"
		if e.Test == "" && (e.Action == "pass" || e.Action == "fail") {
			continue // end reports it
		}
		r.add(e)
	}
}

// end ends the converter of the running test binary, which has ended. status says what went wrong;
// "" if nothing did.
func (r *report) end(ctx context.Context, tests []wire.Test, status string) error {
	if err := r.start(ctx, tests); err != nil {
		return err
	}
	c := r.running
	r.running = nil
	r.next++
	c.input.Close()
	if err := errors.Join(<-c.done, c.cmd.Wait()); err != nil {
		return err
	}
	action := "pass"
	if c.failed || status != "" {
		action = "fail"
		r.add(results.Event{Action: "output", Package: c.pkg, Output: status + "\n"})
	}
	r.add(results.Event{Action: action, Package: c.pkg, Elapsed: time.Since(c.start).Seconds()})
	return nil
}

func (r *report) add(e results.Event) {
	r.results.Add(e)
	if r.json != nil {
		r.json.Encode(e)
	}
}

// broke reports that the guest is gone because of err: the running test binary and all
// later ones have failed.
func (r *report) broke(tests []wire.Test, err error) {
	if r.running != nil {
		r.running.input.Close()
		<-r.running.done
		r.running.cmd.Wait()
	}
	for i, t := range tests[r.next:] {
		text := err.Error()
		if i > 0 {
			text = "not run: the guest was gone"
		}
		r.add(results.Event{Action: "output", Package: t.Package, Output: text + "\n"})
		r.add(results.Event{Action: "fail", Package: t.Package})
	}
}
