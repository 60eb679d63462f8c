// Package results reads the output of go test -json, prints the important parts, and
// adds up the results.
package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Event is one line of go test -json (go doc test2json).
type Event struct {
	Action      string
	Package     string
	ImportPath  string // instead of Package in build events
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// Results adds up the tests of one tier. Of a test with subtests, it counts only the
// subtests, so that no assertion counts twice.
type Results struct {
	Passed, Failed, Skipped int
	Tests                   []Test // in the order in which they ended

	w      io.Writer
	output map[string][]string // of the running tests, by package and name
	inner  map[string]bool     // tests that have subtests
	broken map[string]bool     // tests that have a failed subtest, packages that have a failed test
}

// Test is an ended test without subtests, or a skipped test.
type Test struct {
	Package, Name string
	Action        string  // pass, fail or skip
	Reason        string  // why it was skipped
	Seconds       float64 // how long it took
}

// New returns empty results that print to w.
func New(w io.Writer) *Results {
	return &Results{
		w:      w,
		output: map[string][]string{},
		inner:  map[string]bool{},
		broken: map[string]bool{},
	}
}

// Read reads the output of go test -json to its end. It prints the output of failed
// tests and a line for each package.
func (r *Results) Read(events io.Reader) error {
	d := json.NewDecoder(events)
	for {
		var e Event
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the output of go test: %w", err)
		}
		r.Add(e)
	}
}

// Add processes one event.
func (r *Results) Add(e Event) {
	key := e.Package + "\n" + e.Test
	switch e.Action {
	case "run":
		if i := strings.LastIndexByte(key, '/'); i > len(e.Package) {
			r.inner[key[:i]] = true
		}
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "build-output":
		fmt.Fprint(r.w, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e, key)
		} else {
			r.endTest(e, key)
		}
		delete(r.output, key)
	}
}

func (r *Results) endTest(e Event, key string) {
	test := Test{Package: e.Package, Name: e.Test, Action: e.Action, Seconds: e.Elapsed}
	switch {
	case e.Action == "fail":
		r.print(key)
		if !r.broken[key] {
			r.Failed++
		}
		r.broken[e.Package+"\n"] = true
		if i := strings.LastIndexByte(key, '/'); i > len(e.Package) {
			r.broken[key[:i]] = true
		}
	case e.Action == "skip":
		r.Skipped++
		test.Reason = SkipReason(r.output[key])
	case !r.inner[key]:
		r.Passed++
	}
	if !r.inner[key] || e.Action == "skip" {
		r.Tests = append(r.Tests, test)
	}
}

// endPackage writes the package's line. A package fails on its own if it does
// not build or if its test binary dies outside of any test.
func (r *Results) endPackage(e Event, key string) {
	switch e.Action {
	case "fail":
		if !r.broken[key] {
			r.Failed++
			r.print(key)
		}
		delete(r.output, key)
		r.printUnfinished(e.Package)
		fmt.Fprintf(r.w, "FAIL %s %.1fs\n", e.Package, e.Elapsed)
	case "pass":
		fmt.Fprintf(r.w, "ok   %s %.1fs\n", e.Package, e.Elapsed)
	}
}

// printUnfinished writes the output of the package's tests that never ended, because
// the test binary died. It contains the reason.
func (r *Results) printUnfinished(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(r.output)) {
		if strings.HasPrefix(key, pkg+"\n") {
			r.print(key)
			delete(r.output, key)
		}
	}
}

func (r *Results) print(key string) {
	for _, line := range r.output[key] {
		if !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "FAIL\t") {
			fmt.Fprint(r.w, line)
		}
	}
}

// skipLine is what t.Skip prints: "    file_test.go:12: reason".
var skipLine = regexp.MustCompile(`^\s+(\S+\.go):\d+: (.*)`)

// SkipReason returns the reason that a skipped test gave: the first line of its last message.
// It ignores the log that testscript prints after the reason.
func SkipReason(output []string) string {
	for i := len(output) - 1; i >= 0; i-- {
		if m := skipLine.FindStringSubmatch(output[i]); m != nil && m[1] != "testscript.go" {
			return strings.TrimSpace(m[2])
		}
	}
	return "no reason given"
}

// Summarize writes the tier's counts and every reason for a skip.
func (r *Results) Summarize(w io.Writer, name string) {
	fmt.Fprintf(w, "%s: ran %d: %d passed, %d failed; %d skipped\n",
		name, r.Passed+r.Failed, r.Passed, r.Failed, r.Skipped)
	reasons := map[string]int{}
	for _, t := range r.Tests {
		if t.Action == "skip" {
			reasons[t.Reason]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(w, "  skipped %d: %s\n", reasons[reason], reason)
	}
}
