package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/dev/results"
	"github.com/ringtap/ringtap/internal/dev/testlist"
)

// runner runs tiers over packages and prints the results.
type runner struct {
	w        io.Writer
	packages []string
	report   string // the file that lists where each live test ran; "" for none

	done []outcome
}

// outcome is the result of a tier.
type outcome struct {
	tier    tier
	results *results.Results
	ok      bool
}

// run runs the stages and reports whether all tiers succeeded and each live test ran on some kernel.
func (r *runner) run(stages [][]lane) bool {
	for _, stage := range stages {
		r.done = append(r.done, r.runTogether(stage)...)
	}
	ok := r.reportPlaces()
	var total results.Results
	for _, o := range r.done {
		ok = ok && o.ok
		total.Passed += o.results.Passed
		total.Failed += o.results.Failed
		total.Skipped += o.results.Skipped
	}
	fmt.Fprintf(r.w, "%d passed, %d failed, %d skipped\n", total.Passed, total.Failed, total.Skipped)
	return ok
}

// runTogether runs the lanes of a stage at the same time and writes their output in the order
// of the lanes. Of guests that run all tests, it runs at most one per CPU.
func (r *runner) runTogether(stage []lane) []outcome {
	if len(stage) == 1 {
		return r.runLane(r.w, stage[0])
	}
	outcomes := make([][]outcome, len(stage))
	texts := make([]turn, len(stage))
	ended := make([]chan struct{}, len(stage))
	cpus := make(chan struct{}, runtime.NumCPU())
	for i, l := range stage {
		ended[i] = make(chan struct{})
		go func() {
			defer close(ended[i])
			if l[0].guest && l[0].skipped == "" {
				cpus <- struct{}{}
				defer func() { <-cpus }()
			}
			outcomes[i] = r.runLane(&texts[i], l)
		}()
	}
	for i := range stage {
		texts[i].begin(r.w)
		<-ended[i]
	}
	return slices.Concat(outcomes...)
}

// runLane runs tiers one after another.
func (r *runner) runLane(w io.Writer, l lane) []outcome {
	var outcomes []outcome
	for _, t := range l {
		outcomes = append(outcomes, r.runTier(w, t))
	}
	return outcomes
}

// turn keeps the output of a lane until begin, and writes it through after that.
type turn struct {
	mu   sync.Mutex
	text bytes.Buffer
	to   io.Writer // nil until begin
}

func (t *turn) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.to != nil {
		return t.to.Write(p)
	}
	return t.text.Write(p)
}

func (t *turn) begin(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.WriteTo(w)
	t.to = w
}

// runTier runs one tier and writes its results.
func (r *runner) runTier(w io.Writer, t tier) outcome {
	start := time.Now()
	fmt.Fprintf(w, "== %s tier\n", t.name)
	args, remove, err := r.arguments(t)
	if err != nil {
		fmt.Fprintf(w, "%s: %v\n", t.name, err)
		return outcome{t, results.New(w), errors.Is(err, errNoneSkipped)}
	}
	defer remove()
	tests, cpu, err := t.run(w, args)
	tests.Summarize(w, t.name)
	switch {
	case err != nil:
		fmt.Fprintf(w, "%s: %v\n", t.name, err)
	case tests.Failed == 0 && tests.Passed == 0:
		fmt.Fprintf(w, "%s: ran nothing\n", t.name)
	}
	fmt.Fprintf(w, "%s: took %s, and %s of CPU time\n", t.name, time.Since(start).Round(time.Second), cpu.Round(time.Second))
	return outcome{t, tests, err == nil && tests.Failed == 0 && tests.Passed > 0}
}

// errNoneSkipped is the error of a tier that runs another tier's skipped tests, if that tier
// skipped none.
var errNoneSkipped = errors.New("every test ran already")

// arguments returns the command line that runs the tier's tests, and a function that
// removes its temporary file, if it needs one.
func (r *runner) arguments(t tier) (args []string, remove func(), err error) {
	args = slices.Clone(t.command)
	switch {
	case t.skipped != "":
		list, err := r.listSkipped(t)
		return append(args, "--only", list), func() { os.Remove(list) }, err
	case t.tests != "":
		packages, err := testlist.Packages(context.Background(), ".", r.packages, regexp.MustCompile(t.tests))
		if err == nil && len(packages) == 0 {
			err = errors.New("no package has a test for it")
		}
		var first, rest []string
		for _, p := range packages {
			if slowest.MatchString(p.ImportPath) {
				first = append(first, p.ImportPath)
			} else {
				rest = append(rest, p.ImportPath)
			}
		}
		return slices.Concat(args, []string{"-run=" + t.tests}, first, rest), func() {}, err
	}
	return append(args, r.packages...), func() {}, nil
}

// listSkipped writes the tests that rerun runs because another tier skipped them to a
// file, in the format of vmrun's --only, and returns the file's name.
func (r *runner) listSkipped(rerun tier) (string, error) {
	var list strings.Builder
	for _, o := range r.done {
		if o.tier.name != rerun.skipped {
			continue
		}
		for _, t := range o.results.Tests {
			if t.Action == "skip" && !onlyInTestAll(t.Reason) {
				fmt.Fprintln(&list, t.Package, t.Name)
			}
		}
	}
	if list.Len() == 0 {
		return "", errNoneSkipped
	}
	file, err := os.CreateTemp("", "ringtap-skipped-")
	if err != nil {
		return "", err
	}
	defer file.Close()
	_, err = file.WriteString(list.String())
	return file.Name(), err
}

// run runs the tier's command line args. cpu is the CPU time of the command and of the children
// that it waited for. A failing command is an error only if no test in its output failed.
func (t tier) run(w io.Writer, args []string) (r *results.Results, cpu time.Duration, err error) {
	if t.live {
		defer mountTracefs(w)()
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = w
	r = results.New(w)
	output, err := cmd.StdoutPipe()
	if err != nil {
		return r, 0, err
	}
	if err := cmd.Start(); err != nil {
		return r, 0, err
	}
	readErr := r.Read(output)
	err = cmd.Wait()
	cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if readErr != nil {
		return r, cpu, readErr
	}
	if err != nil && r.Failed == 0 {
		return r, cpu, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return r, cpu, nil
}

// mountTracefs mounts tracefs if the caller is root and it is not mounted, and returns a
// function that unmounts it again. If it cannot be mounted, tests that need it are skipped.
func mountTracefs(w io.Writer) (undo func()) {
	if os.Geteuid() != 0 {
		return func() {}
	}
	tracefs, mounted, err := ftrace.Mount()
	if err != nil {
		fmt.Fprintln(w, err)
	}
	if !mounted {
		return func() {}
	}
	return func() {
		if err := unix.Unmount(tracefs.Dir(), 0); err != nil {
			fmt.Fprintf(w, "unmount %s: %v\n", tracefs.Dir(), err)
		}
	}
}
